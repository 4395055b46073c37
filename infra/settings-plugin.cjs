/**
 * Refuses to deploy a function whose settings it would refuse to run with: every problem is named before anything is
 * sent to AWS, by the very code that reads the settings there.
 */
'use strict';

class SettingsPlugin {
  constructor(serverless) {
    this.hooks = {
      'before:deploy:deploy': () => this.check(serverless),
      'before:deploy:function:initialize': () => this.check(serverless),
    };
  }

  async check(serverless) {
    const { readSettings } = await import('../lib/config/settings.ts');
    const { provider, functions } = serverless.service;
    const problems = Object.values(functions).flatMap((fn) => {
      const set = { ...provider.environment, ...fn.environment };
      const environment = Object.fromEntries(Object.entries(set).map(([name, value]) => [name, String(value)]));
      const result = readSettings({ ...environment, AWS_REGION: provider.region });
      return result.ok ? [] : result.problems.map((problem) => `${fn.name}: ${problem}`);
    });
    if (problems.length === 0) return;
    throw new serverless.classes.Error(
      `Not deployed, these settings are wrong:\n${problems.join('\n')}`,
      'INVALID_SETTINGS',
    );
  }
}

module.exports = SettingsPlugin;
