import { expect, test } from "vitest";
import { assertionText } from "../../../../src/cli/simulate/formats/screen/headline.ts";
import type { ChangedEntry, SettingChange } from "../../../../src/simulate/report/report.ts";

const TO = "{ regions: [us] }";
const MORE = "{ regions: [us, eu] }";

test.for<[string, Partial<ChangedEntry>, SettingChange["gate"]]>([
  [
    `assertion guard is weakened, it accepts more than before: to ${MORE} → ${TO}`,
    { before: MORE, after: TO },
    "assertions",
  ],
  [
    `assertion guard is changed, it accepts no more than before: to ${TO} → ${MORE}`,
    { before: TO, after: MORE },
    null,
  ],
  [
    "assertion guard is weakened, it accepts more than before: to not set → 1",
    { before: null, after: "1" },
    "assertions",
  ],
  [
    'assertion guard is removed: "Guard"',
    { path: "assertions.guard", change: "removed", before: "{ title: Guard }", after: null },
    "assertions",
  ],
  [
    'assertion guard is new: "Guard"',
    { path: "assertions.guard", change: "added", before: null, after: "{ title: Guard }" },
    null,
  ],
  [
    "title of assertion guard: A → B",
    { path: "assertions.guard.title", before: "A", after: "B" },
    null,
  ],
  [
    "coverage gate of routes: 100 % → 90 %; it demands less than before",
    { path: "coverage.routes", before: "100 %", after: "90 %" },
    "assertions",
  ],
  [
    "coverage gate of fallback edges: not set → 90 %",
    { path: "coverage.fallback_edges", before: null, after: "90 %" },
    null,
  ],
  [
    "policies/assertions.yaml is removed; this change is still held against it",
    { path: "policies/assertions.yaml", change: "removed", after: null },
    "assertions",
  ],
])("%s", ([text, changes, gate]) => {
  const entry: ChangedEntry = {
    path: "assertions.guard.to",
    kind: "assertion",
    subject: "guard",
    change: "changed",
    before: null,
    after: null,
    location: null,
    ...changes,
  };
  const { path, before, after } = entry;
  const setting: SettingChange = { path, before, after, location: null, effect: "assertion", gate };
  const assertions = {
    file: "",
    results: [],
    worstFirst: [],
    coverage: [],
    failedGates: [],
    counts: "",
    passed: 0,
    failed: 0,
    waived: 0,
  };
  expect(assertionText(entry, { changed_settings: [setting], assertions })).toBe(text);
});
