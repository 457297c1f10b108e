import type { LatentChange } from "../report/latent-report.ts";
import type { ChangedAnswer } from "./changed-answers.ts";
import type { LatentField } from "./name-classes.ts";

interface Summary extends Pick<LatentChange, "where" | "every" | "combinations"> {
  /** The first of them. */
  readonly answer: ChangedAnswer;
}

/**
 * Changed answers that no request of today shows, by what changes. Where requests of today show a change of the same rule, only those with a value that
 * they do not have are left: the others are the same change once more.
 *
 * @param whole whether every combination was tried.
 */
export function summaries(
  fields: readonly LatentField[],
  answers: readonly ChangedAnswer[],
  whole: boolean,
): readonly Summary[] {
  const groups = Map.groupBy(answers, ({ direction, kind, rule }) => JSON.stringify([direction, kind, rule]));
  return [...groups.values()].flatMap((all): readonly Summary[] => {
    const shown = fields.map((_, at) => new Set(all.flatMap((one) => (one.isToday ? (one.combination[at] ?? 0) : []))));
    const isShown = all.some(({ isToday }) => isToday);
    const isNews = ({ combination }: ChangedAnswer): boolean =>
      !isShown || fields.some(({ row }, at) => row !== "request" && shown[at]?.has(combination[at] ?? 0) === false);
    const latent = all.filter((one) => !one.isToday && isNews(one));
    const [answer] = latent;
    if (answer === undefined) return [];
    const met = fields.map((_, at) => new Set(latent.map(({ combination }) => combination[at] ?? 0)));
    const inBox = met.reduce((number, values) => number * values.size, 1);
    const changed = all.filter(({ combination }) => met.every((values, at) => values.has(combination[at] ?? 0)));
    return [
      {
        answer,
        where: fields.flatMap(({ path, values }, at) => {
          const own = met[at] ?? new Set();
          if (own.size === values.length) return [];
          return [{ path, values: values.flatMap((names, index) => (own.has(index) ? names : [])) }];
        }),
        every: whole && inBox === changed.length,
        combinations: latent.length,
      },
    ];
  });
}
