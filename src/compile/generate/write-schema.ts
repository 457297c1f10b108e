import { readFile, writeFile } from "node:fs/promises";
import { DIALECTS } from "../../dialects/table.ts";
import { withNavigationOf } from "./navigation.ts";
import { configurationReference, diagnosticsReference } from "./reference.ts";
import { presetsPage } from "./presets-page.ts";
import { overlaySchema, partSchema } from "../schemas/further-schemas.ts";
import { routesSchema } from "../routes-schema.ts";

/** Writes what is generated from the schema and the table of codes: run `npm run schema` after changing either. */
const root = new URL("../../../", import.meta.url);
const schema = routesSchema(Object.keys(DIALECTS).toSorted());
await writeFile(new URL("routes.schema.json", root), `${JSON.stringify(schema, null, 2)}\n`);
await writeFile(new URL("routes-part.schema.json", root), `${JSON.stringify(partSchema(schema), null, 2)}\n`);
await writeFile(new URL("routes-overlay.schema.json", root), `${JSON.stringify(overlaySchema(schema), null, 2)}\n`);
await writePage("docs/configuration.md", configurationReference(schema, DIALECTS));
await writePage("docs/diagnostics.md", diagnosticsReference());
await writePage("docs/presets.md", presetsPage());

async function writePage(path: string, text: string): Promise<void> {
  const file = new URL(path, root);
  await writeFile(file, withNavigationOf(await readFile(file, "utf8"), text));
}
