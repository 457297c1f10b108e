import { describe, expect, it } from "vitest";
import { conditionsText } from "../../../../src/cli/simulate/formats/screen/conditions.ts";
import { modelOf } from "../../../../src/cli/simulate/formats/model.ts";
import { PLAIN_SCALARS } from "../../../../src/simulate/request-scalars.ts";
import type { ChangeGroup } from "../../../../src/simulate/report/report.ts";
import { comparison, group, POINT, report } from "./report-fixture.ts";

const PLAIN = { ...POINT, ...PLAIN_SCALARS, needs: [] };

function conditioned(conditions: Readonly<Record<string, readonly string[]>>): ChangeGroup {
  return group({
    example: PLAIN,
    conditions: Object.entries(conditions).map(([dimension, values]) => ({ dimension, values })),
  });
}

const dimension = (name: string, values: number) => ({
  name,
  values,
  distinguished: values,
  read_by: [],
  reason: null,
});
const ALL = [
  conditioned({ environment: ["other", "production"], workload: ["batch"] }),
  conditioned({ environment: ["test"], workload: ["online", "other"] }),
];
const REPORT = modelOf(
  report({
    declared: comparison("incomparable", ALL),
    space: {
      classes: 1,
      shapes: "1",
      dimensions: [dimension("environment", 3), dimension("workload", 3), dimension("tier", 9)],
    },
  }),
);

describe("the conditions of a change", () => {
  it.each<[string, readonly ChangeGroup[], string]>([
    ["are none without any", [conditioned({})], ""],
    [
      "name the values, where they are fewer",
      [conditioned({ environment: ["test"] })],
      "; only with environment test",
    ],
    [
      "name those that are omitted, where they are fewer",
      [conditioned({ environment: ["other", "production"] })],
      "; not with environment test",
    ],
    [
      "name the values where the report does not have all others",
      [conditioned({ tier: ["a", "b"] })],
      "; only with tier a, b",
    ],
    [
      "join groups that differ in one dimension",
      [
        conditioned({ environment: ["test"], workload: ["batch"] }),
        conditioned({ environment: ["test"], workload: ["online", "other"] }),
      ],
      "; only with environment test",
    ],
    [
      "do not join groups that differ in two",
      [
        conditioned({ environment: ["test"], workload: ["batch"] }),
        conditioned({ environment: ["other", "production"], workload: ["online", "other"] }),
      ],
      "; only with environment test, with workload batch",
    ],
    [
      "omit what a request does not choose",
      [conditioned({ zdr: ["false"], environment: ["test"] })],
      "; only with environment test",
    ],
    [
      "name hours of all days by the hour",
      [conditioned({ time: ["weekday night", "weekend night"] })],
      "; only in the night",
    ],
    [
      "name whole days by the day",
      [
        conditioned({
          time: ["weekend night", "weekend morning", "weekend afternoon", "weekend evening"],
        }),
      ],
      "; only on weekend",
    ],
    [
      "name each of several conditions of which one suffices",
      [
        {
          ...conditioned({}),
          plain_requests: {
            any: true,
            conditions: [
              { dimension: "environment", values: ["test"] },
              { dimension: "workload", values: ["batch"] },
            ],
          },
        },
      ],
      "; only callers with environment test, or with workload batch",
    ],
    [
      "are those of some callers where no list describes them",
      [{ ...conditioned({}), plain_requests: { any: true, conditions: [] } }],
      "; only some callers",
    ],
    [
      "of plain requests are named where other requests of the group have fewer",
      [
        {
          ...conditioned({}),
          plain_requests: {
            any: false,
            conditions: [{ dimension: "without_key_labels", values: ["vip"] }],
          },
        },
      ],
      "; not with key_labels vip",
    ],
  ])("%s", (_, groups, text) => {
    expect(conditionsText(groups, REPORT)).toBe(text);
  });

  it("name a need of the example as `such as` where the group does not require it", () => {
    const either = group({ conditions: [], example: { ...PLAIN, needs: ["reasoning"] } });
    expect(conditionsText([either], REPORT)).toBe("; such as with needs reasoning");
  });

  it("are limited to some callers, where a preference of the example is no condition of the whole group", () => {
    const some = group({
      conditions: [{ dimension: "region", values: ["us"] }],
      example: { ...PLAIN, preferences: { region: ["us"], order: ["p"] } },
    });
    expect(conditionsText([some], REPORT)).toBe(
      "; only some callers who set region us; such as with order p",
    );
  });

  it("name the environment of the example, where only other requests of the group have the usual one", () => {
    const test = group({
      conditions: [],
      example: { ...PLAIN, key: { ...PLAIN.key, environment: "test" } },
    });
    const usual = group({
      conditions: [],
      example: { ...PLAIN, key: { ...PLAIN.key, environment: "production" } },
    });
    const model = modelOf(report({ declared: comparison("incomparable", [usual]) }));
    expect(conditionsText([test], model)).toBe("; such as with environment test");
    expect(conditionsText([usual], model)).toBe("");
  });
});
