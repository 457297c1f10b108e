import { writeFileSync } from "node:fs";
import { ASSERTIONS_SCHEMA } from "./schema.ts";

/** Writes `policies/assertions.schema.json`, which editors read; part of `npm run schema`. A test keeps the file equal. */
const target = new URL("../../../../policies/assertions.schema.json", import.meta.url);
writeFileSync(target, `${JSON.stringify(ASSERTIONS_SCHEMA, null, 2)}\n`);
