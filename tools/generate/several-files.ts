/** The section of docs/configuration.md on included files and overlays. */
export const FILES = `## Several files

\`include: [providers.yaml, teams/*.yaml]\` in routes.yaml names further files with the same sections.

- Paths are relative to the folder of routes.yaml and stay inside it: no \`..\`, no name that begins with a dot, no link that leads out.
- \`*\` matches any part of a name. Matches are sorted; routes.yaml and its overlays are not among them. An entry that matches nothing is an error.
- Sections of all files are joined. Something that two files define (a row, an endpoint's id, a member of \`policies\` or \`vocabulary\`, the mode of a policy) is an error that names both positions.
- Only routes.yaml can have \`include\` and \`policies.dir\`.

\`signalbox check FOLDER\` checks the routes.yaml of a folder with its files. \`serve\` watches all of them; \`simulate\` reads them on both sides.
The same rows in one file or in ten have the same revision of the table.

## Environments

\`routes.production.yaml\` beside routes.yaml is the overlay of the environment \`production\`.
\`--environment production\`, or \`SIGNALBOX_ENVIRONMENT=production\`, merges it over routes.yaml and its included files, for \`serve\`, \`check\`, \`simulate\`, \`explain\` and \`limits\`.
Without either, no overlay is read. An unknown environment is an error that lists the existing ones.

- Mappings merge, key by key, at any depth.
- Any other value, also a list, replaces the existing one.
- \`null\` removes a key, which must exist.
- \`endpoints\` is a mapping by id in an overlay: \`endpoints: { gpt-5-eu: { price: { input: 1, output: 8 } }, gpt-5-us: null }\`.
- A new row must be complete. So a misspelt id is an error in the overlay: its row lacks required keys.
- \`include\` and \`policies.dir\` cannot be changed.

Findings name the file with the mistake. An overlay that changes a row changes the revision of the table.
\`simulate\` merges the overlay on both sides, and writes a note on standard error if base has none. One run is about one environment.`;
