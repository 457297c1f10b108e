import { PRESETS } from "../../src/compile/presets.ts";

/** `docs/presets.md`: every preset, from `presets.json`. */
export function presetsPage(): string {
  const sections = Object.entries(PRESETS).map(
    ([name, { title, regions, address, provider, row, source, checked }]) => {
      const { dialect, ...keys } = provider;
      const shownRegions =
        regions === undefined
          ? [`- \`base_url\` is required, such as \`${address ?? ""}\``]
          : Object.entries(regions).map(([region, url]) => `- \`${region}\`: \`${url}\``);
      return [
        `## ${name}`,
        `${title}. Dialect \`${typeof dialect === "string" ? dialect : ""}\`, \`${JSON.stringify(keys)}\`.`,
        shownRegions.join("\n"),
        `Row \`${row}\` of providers.md names what is not verified. Looked up ${checked}: ${source}`,
      ].join("\n\n");
    },
  );
  return `# Presets

Written by \`npm run generate\` from \`src/compile/presets.json\`; do not edit.

A row of \`providers\` with \`preset: openai\` gets \`dialect\`, \`base_url\`, \`auth\` and \`flags\` from here.

- A key of the row replaces that of the preset as a whole: \`flags: []\` means none.
- \`region\` is always the row's own, and selects the address. If your file names the region otherwise, \`preset_region\` selects it.
- \`retention\` and \`trains_on_data\` are never part of a preset, because your contract decides them.
- An endpoint without \`price\` has the [list price](limits.md#list-prices) of its model, where the address is the preset's.
- \`signalbox check\` prints the result of each preset; \`--format json\` has it under \`presets\`.
- The revision of the table covers the result, so a release that changes a preset shows in \`simulate\`.

${sections.join("\n\n")}
`;
}
