import { writeFileSync } from "node:fs";
import { POLICY_INPUT_SCHEMA } from "./input-schema.ts";

/** Writes `policies/input.schema.json`, which editors read; part of `npm run schema`. A test keeps the file equal. */
const target = new URL("../../policies/input.schema.json", import.meta.url);
writeFileSync(target, `${JSON.stringify(POLICY_INPUT_SCHEMA, null, 2)}\n`);
