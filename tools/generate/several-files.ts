/** The section of docs/configuration.md on included files and overlays. */
export const FILES = `## Several files

\`include: [providers.yaml, teams/*.yaml]\` in routes.yaml names further files with the same sections. Paths are relative to the folder of routes.yaml
and stay inside it: no \`..\`, no name that begins with a dot, no link that leads out. \`*\` stands for any part of a name; what a pattern finds is sorted, and
routes.yaml and its overlays are passed over. An entry that finds nothing is an error.

Sections of an included file are put beside those of routes.yaml. What two files define (a row, an endpoint's id, a member of \`policies\` or of \`vocabulary\`, the mode of one policy) is an
error that names both places; nothing overrides anything. Only routes.yaml includes, and only it has \`policies.dir\`: one file shows all that is read.

\`signalbox check FOLDER\` checks the routes.yaml of a folder with all of this. \`serve\` watches every file that belongs to it, and \`simulate\` reads them of
both sides, from commits too. The revision of the table covers what all files say together: the same rows in one file or in ten are the same table.

## Environments

\`routes.production.yaml\` beside routes.yaml is the overlay of the environment \`production\`. \`--environment production\`, or
\`SIGNALBOX_ENVIRONMENT=production\`, lays it upon routes.yaml and what that includes, for \`serve\`, \`check\`, \`simulate\`, \`explain\` and \`limits\`. Without either,
no overlay is read. An unknown environment is an error that names those there are.

- Mappings merge, key by key, at any depth.
- Any other value, lists too, takes the place of the one that is there.
- \`null\` removes a key. It must be there.
- \`endpoints\` is a mapping by id in an overlay: \`endpoints: { gpt-5-eu: { price: { input: 1, output: 8 } }, gpt-5-us: null }\`.
- What is new is added, and has to be whole: a row that is misspelt lacks its required keys, which is an error in the overlay.
- \`include\` and \`policies.dir\` cannot be changed.

The result is checked as one file would be, and findings point into the file where the mistake stands. An overlay that changes a row changes the revision of the table, so
everything that shows one tells environments apart. Overlays live in git like routes.yaml; \`simulate\` lays them upon both sides, and says so on standard error where base has none yet. One run of \`simulate\` is about one environment.`;
