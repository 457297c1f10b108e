import { DIALECTS } from "../../src/dialects/table.ts";
import type { DialectFacts } from "../../src/dialects/dialect.ts";

/**
 * The dialects of this release and two more, so that the checks of every kind of work can be tested
 * before all protocols exist.
 */
export const TEST_DIALECTS: Readonly<Record<string, DialectFacts>> = {
  ...DIALECTS,
  "test-vectors": {
    operations: ["embed", "rerank", "moderate"],
    expresses: [],
    features: ["conversation", "seed"],
    optional: [],
    supportsBudgets: false,
    supportsBetas: false,
    signs: false,
    flags: {},
    demandsOutputLimit: false,
  },
  "test-limit": {
    operations: ["generate"],
    expresses: ["tools", "prefill"],
    features: ["conversation", "seed"],
    optional: [],
    supportsBudgets: false,
    supportsBetas: false,
    signs: false,
    flags: {},
    demandsOutputLimit: true,
  },
};
