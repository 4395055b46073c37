/** Writes the parts of the documents that are made of the code: `npx node test/docs/write-tables.ts`. */
import { writeFileSync } from 'node:fs';
import { markedIn, ROOT, textOf } from './documents.ts';
import { generatedParts } from './generated.ts';

for (const { document, name, markdown } of generatedParts()) {
  const begin = `<!-- ${name}:begin -->`;
  const end = `<!-- ${name}:end -->`;
  const before = `${begin}${markedIn(document, name)}${end}`;
  const after = `${begin}\n\n${markdown}\n\n${end}`;
  writeFileSync(
    `${ROOT}${document}`,
    textOf(document).replace(before, () => after),
  );
}
