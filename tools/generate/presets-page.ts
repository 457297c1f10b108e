import { PRESETS } from "../../src/compile/presets/presets.ts";

/** `docs/presets.md`: every preset, from `presets.json`. */
export function presetsPage(): string {
  const sections = Object.entries(PRESETS).map(
    ([name, { title, regions, address, provider, row, source, checked }]) => {
      const { dialect, ...keys } = provider;
      const shownRegions =
        regions === undefined
          ? [`- \`base_url\` has to be written, such as \`${address ?? ""}\``]
          : Object.entries(regions).map(([region, url]) => `- \`${region}\`: \`${url}\``);
      return [
        `## ${name}`,
        `${title}. Dialect \`${typeof dialect === "string" ? dialect : ""}\`, \`${JSON.stringify(keys)}\`.`,
        shownRegions.join("\n"),
        `Row \`${row}\` of providers.md says what is not verified. Looked up ${checked}: ${source}`,
      ].join("\n\n");
    },
  );
  return `# Presets

Written by \`npm run generate\` from \`src/compile/presets/presets.json\`; do not edit.

A row of \`providers\` may say \`preset: openai\`. It gets \`dialect\`, \`base_url\`, \`auth\` and \`flags\` from here. A key that the row has itself takes the
place of the preset's, as a whole: \`flags: []\` means none. \`region\` is always the row's own, and chooses the address; where your file has another word for the place, \`preset_region\` says
which address is meant. \`retention\` and \`trains_on_data\` are never part of a preset: they are what your contract says.

\`signalbox check\` prints what each preset came to, and \`--format json\` has it under \`presets\`. The revision of the table covers the result, so a release that
changes a preset shows in \`simulate\`. What a preset cannot know (models, prices, limits) stays in your file.

${sections.join("\n\n")}
`;
}
