import { describe, expect, it } from "vitest";
import { modelOf } from "../../../../src/cli/simulate/formats/model.ts";
import { noticesOf } from "../../../../src/cli/simulate/formats/notices.ts";
import { huge, setting, withCauses } from "./report-fixture.ts";

/** How many members of causes, groups, paths and settings the notices of a report read. */
function readsOfNotices(causes: number): number {
  let reads = 0;
  const counted = <Value extends object>(values: readonly Value[]): readonly Value[] =>
    values.map(
      (value) =>
        new Proxy(value, {
          get: (target, name) => {
            reads += 1;
            return Reflect.get(target, name);
          },
        }),
    );
  const report = withCauses(huge(causes));
  const [declared, promoted] = [report.declared, report.promoted].map((compared) => ({
    ...compared,
    groups: counted(compared.groups),
    new_data_paths: counted(compared.new_data_paths),
  }));
  if (declared === undefined || promoted === undefined) throw new Error("two views");
  const settings = Array.from({ length: causes }, (_, index) =>
    setting(`routes.route-${index}.fallbacks`),
  );
  const notices = noticesOf(
    modelOf({
      ...report,
      declared,
      promoted,
      causes: counted(report.causes),
      changed_settings: counted(settings),
    }),
  );
  expect(notices.length).toBeGreaterThan(causes);
  return reads;
}

describe("notices of a report with hundreds of causes", () => {
  it("read twice as much of a report with twice as many causes", () => {
    expect(readsOfNotices(400)).toBeLessThan(2.5 * readsOfNotices(200));
  });
});
