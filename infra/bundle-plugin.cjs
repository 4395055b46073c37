/**
 * Bundles each function before it is packaged or invoked locally: `dist/NAME/handler.handler` of `serverless.yml` is made
 * from `functions/NAME/handler.ts`, as CommonJS with everything in it (also the AWS SDK, so that what was tested is what
 * runs). Nothing of this machine gets into the output: two bundles of the same sources are equal.
 */
'use strict';

const { randomUUID } = require('node:crypto');
const { mkdir, rename, writeFile } = require('node:fs/promises');
const path = require('node:path');
const { build } = require('esbuild');

/** Others may package at the same time; nobody must ever find half a file. */
async function writeWhole(file) {
  await mkdir(path.dirname(file.path), { recursive: true });
  const fresh = `${path.dirname(path.dirname(file.path))}/.${randomUUID()}`;
  await writeFile(fresh, file.contents);
  await rename(fresh, file.path);
}

class BundlePlugin {
  constructor(serverless) {
    const bundle = () => this.bundleAll(serverless);
    this.hooks = {
      'before:package:createDeploymentArtifacts': bundle,
      'before:package:function:package': bundle,
      'before:invoke:local:invoke': bundle,
    };
  }

  async bundleAll(serverless) {
    const sources = Object.values(serverless.service.functions).map(({ handler }) => {
      const name = /^dist\/([a-z-]+)\/handler\.handler$/.exec(handler)?.[1];
      if (!name)
        throw new serverless.classes.Error(`Handler "${handler}" is not of the form dist/NAME/handler.handler`);
      return { in: path.join('functions', name, 'handler.ts'), out: path.join(name, 'handler') };
    });
    const { outputFiles } = await build({
      entryPoints: sources,
      absWorkingDir: serverless.serviceDir,
      outdir: 'dist',
      outExtension: { '.js': '.cjs' },
      bundle: true,
      minify: true,
      // Error types are read by people and by alarms.
      keepNames: true,
      sourcemap: true,
      sourcesContent: false,
      platform: 'node',
      target: 'node24',
      format: 'cjs',
      mainFields: ['module', 'main'],
      logLevel: 'warning',
      write: false,
    });
    await Promise.all(outputFiles.map(writeWhole));
  }
}

module.exports = BundlePlugin;
