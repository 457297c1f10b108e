import { beforeAll, describe, expect, it } from "vitest";
import type { PolicyTime } from "../../../src/canon/policy.ts";
import { timeWindow } from "../../../src/decide/policy-input.ts";
import { buildModules, compilePolicies } from "../../../src/policy/compile-policies.ts";
import { zonesOf, type CompiledPolicy } from "../../../src/policy/compiled.ts";
import { createPolicySet } from "../../../src/policy/policy-set.ts";
import { policyReader } from "../../../src/simulate/space/readers.ts";
import { timesOf, type Times } from "../../../src/simulate/space/times.ts";
import { ordinaryInput, policySource, sampleData, toolchain } from "../../policy/samples.ts";

const BERLIN = 'input.local_time["Europe/Berlin"]';
const NEW_YORK = 'input.local_time["America/New_York"]';
const KATHMANDU = 'input.local_time["Asia/Kathmandu"]';

async function compiled(rules: string): Promise<CompiledPolicy> {
  const source = policySource("clock", { open: "{effect: gate, reasons: [NO]}" }, rules);
  const { policies, diagnostics } = await compilePolicies([source], { cache: null, toolchain });
  expect(diagnostics).toEqual([]);
  const [policy] = policies;
  if (policy === undefined) throw new Error("no policy");
  return policy;
}

const timesFor = (policy: CompiledPolicy): Times =>
  timesOf([policyReader(policy)], zonesOf(policy));

const names = ({ times, nameOf }: Times): readonly string[] => times.map(nameOf);

describe("hours that a policy distinguishes", () => {
  it.each([
    [`pass.open if ${BERLIN}.hour >= 6`, [6]],
    [`pass.open if 6 <= ${BERLIN}.hour`, [6]],
    [`pass.open if not ${BERLIN}.hour in {22, 23}`, [22, 23]],
    [`pass.open if ${BERLIN}.hour == 12`, [12]],
    [`pass.open if night(${BERLIN})\n\nnight(clock) if clock.hour < 5`, [5]],
    [`pass.open if ${BERLIN}.weekday == "monday"`, []],
    [`pass.open if ${BERLIN}.hour % 2 == 0`, null],
    [`pass.open if ${BERLIN}.hour >= ${NEW_YORK}.hour`, null],
    [`pass.open if ["no", "yes"][${BERLIN}.hour] == "yes"`, null],
    [`first := 6\n\npass.open if ${BERLIN}.hour >= first`, null],
    [`pass.open if json.marshal(input) == "{}"`, null],
  ])("%s gives %j", async (rules, hours) => {
    expect((await compiled(rules)).hours).toEqual(hours);
  });
});

describe("classes of times", () => {
  it("are the eight windows of UTC where no policy names a zone", () => {
    expect(names(timesOf([], []))).toEqual([
      ...["morning", "night", "afternoon", "evening"].map((hour) => `weekday ${hour}`),
      ...["morning", "night", "afternoon", "evening"].map((hour) => `weekend ${hour}`),
    ]);
  });

  it("are split by the hours and weekdays of a policy", async () => {
    const policy = await compiled(
      `pass.open if {\n\t${BERLIN}.hour >= 6\n\t${BERLIN}.hour < 22\n\t${BERLIN}.weekday != "sunday"\n}`,
    );
    expect(names(timesFor(policy)).toSorted()).toEqual(
      ["monday–saturday", "sunday"].flatMap((days) =>
        ["00:00–05:59", "06:00–06:59", "07:00–21:59", "22:00–22:59", "23:00–23:59"].map(
          (hours) => `Europe/Berlin ${days} ${hours}`,
        ),
      ),
    );
  });

  it("join the clocks of two zones only as they occur, in the weeks between their changes too", async () => {
    const policy = await compiled(
      `pass.open if {\n\t${BERLIN}.hour == 12\n\t${NEW_YORK}.hour in {6, 7, 8}\n}`,
    );
    const noon = names(timesFor(policy)).filter((name) =>
      name.includes("Europe/Berlin 12:00–12:59"),
    );
    // Six hours apart, and five in March and in autumn: never four.
    expect(noon.filter((name) => name.includes("New_York 06:00–06:59"))).toHaveLength(1);
    expect(noon.filter((name) => name.includes("New_York 07:00–07:59"))).toHaveLength(1);
    expect(noon).toHaveLength(2);
  });
});

const HOUR = 3_600_000;

/** Every quarter of an hour around the clock changes of 2026, and of a plain week. */
function instants(): readonly number[] {
  const weeks = ["2026-01-05", "2026-03-06", "2026-03-27", "2026-07-01", "2026-10-23"];
  return weeks.flatMap((day) =>
    Array.from({ length: 8 * 24 * 4 }, (_, quarter) => Date.parse(day) + (quarter * HOUR) / 4),
  );
}

describe("one time of a class represents all its times", () => {
  const rules = [
    `pass.open if {\n\t${BERLIN}.hour >= 6\n\t${BERLIN}.hour < 22\n}`,
    `pass.open if {\n\t${BERLIN}.weekday in {"saturday", "sunday"}\n\t${NEW_YORK}.hour > 9.5\n}`,
    `pass.open if ${BERLIN}.hour - ${NEW_YORK}.hour == 5`,
    `pass.open if {\n\tinput.time.day == "weekday"\n\t${KATHMANDU}.hour == 0\n}`,
    `pass.open if ${BERLIN}.weekday == ${KATHMANDU}.weekday`,
    `pass.open if {\n\tsome zone in ["Europe/Berlin", "Asia/Kathmandu"]\n\tinput.local_time[zone].hour == 23\n}`,
    `pass.open if startswith(${NEW_YORK}.weekday, "t")`,
  ];
  let policies: readonly CompiledPolicy[] = [];
  beforeAll(async () => {
    policies = await Promise.all(rules.map(compiled));
  }, 60_000);

  it.each(rules.map((text, index) => [text, index] as const))("%s", async (_, index) => {
    const policy = policies[index];
    if (policy === undefined) throw new Error("no policy");
    const modules = await buildModules([policy], toolchain);
    const set = await createPolicySet({ modules }, [], sampleData, () => "enforce");
    expect(set.zones).toEqual(zonesOf(policy));
    const answer = ({ local = {}, ...time }: PolicyTime): unknown =>
      set.evaluate(ordinaryInput({ time, local_time: local })).verdicts;
    const classes = timesFor(policy);
    const expected = new Map(classes.times.map((time) => [classes.nameOf(time), answer(time)]));
    const answers = new Set<string>();
    for (const at of instants()) {
      const time = timeWindow(at, set.zones);
      const found = answer(time);
      answers.add(JSON.stringify(found));
      if (JSON.stringify(expected.get(classes.nameOf(time))) !== JSON.stringify(found))
        throw new Error(`${new Date(at).toISOString()} is in the class ${classes.nameOf(time)}`);
    }
    // Otherwise the test is about nothing.
    expect(answers.size).toBe(2);
  });
});
