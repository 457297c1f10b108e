import type { PolicyEvaluation, PolicyInput, PolicyObligation } from "../../canon/policy.ts";
import type { LatentChange } from "../report/report.ts";
import type { Combination } from "./combinations.ts";
import type { LatentField } from "./name-classes.ts";

/** One made-up input for which a policy decides otherwise than before. */
export interface ChangedAnswer extends Pick<LatentChange, "direction" | "rule" | "kind"> {
  readonly combination: Combination;
  /** Whether a request of today may have the input. */
  readonly isToday: boolean;
}

/** Differences between the answers of both sides about the only candidate of an input. */
export function changedAnswers(
  base: PolicyEvaluation,
  head: PolicyEvaluation,
  input: PolicyInput,
): readonly Pick<ChangedAnswer, "direction" | "rule" | "kind">[] {
  const [before, after] = [denierOf(base, input), denierOf(head, input)];
  if (before !== null && after !== null) return [];
  if (before !== null) return [{ direction: "weaker", rule: before, kind: "constraint" }];
  if (after !== null) return [{ direction: "stricter", rule: after, kind: "constraint" }];
  const lost = base.obligations.filter((one) => !isKept(one, head.obligations));
  const gained = head.obligations.filter((one) => !isKept(one, base.obligations));
  return [
    ...lost.map(({ name }) => ({ direction: "weaker", rule: name, kind: "obligation" }) as const),
    ...gained.map(
      ({ name }) => ({ direction: "stricter", rule: name, kind: "obligation" }) as const,
    ),
  ];
}

/** The first constraint that refuses the input's candidate; `null` where none does. */
export function denierOf(
  { verdicts }: PolicyEvaluation,
  { candidates }: PolicyInput,
): string | null {
  const denies = ({ verdict, effect, failing }: PolicyEvaluation["verdicts"][number]): boolean =>
    verdict === "indeterminate" ||
    (verdict === "fail" &&
      (effect === "gate" || candidates.every(({ id }) => failing.includes(id))));
  return verdicts.find(denies)?.constraint ?? null;
}

/**
 * Whether the other side obliges to the same, or to more. A preference for a region obliges to
 * nothing.
 */
function isKept(one: PolicyObligation, others: readonly PolicyObligation[]): boolean {
  if (one.kind === "prefer_region") return true;
  return others.some((other) =>
    one.kind === "max_output_tokens"
      ? other.kind === one.kind && other.value <= one.value
      : other.kind === one.kind && other.value === one.value,
  );
}

interface Summary extends Pick<LatentChange, "where" | "every" | "combinations"> {
  /** The first of them. */
  readonly answer: ChangedAnswer;
}

/**
 * Changed answers that no request of today shows, by rule and direction. Where requests of today
 * show a change of the same rule, only answers with a value that those requests lack are left: the
 * others repeat that change.
 *
 * @param whole whether every combination was tried.
 */
export function summaries(
  fields: readonly LatentField[],
  answers: readonly ChangedAnswer[],
  whole: boolean,
): readonly Summary[] {
  const groups = Map.groupBy(answers, ({ direction, kind, rule }) =>
    JSON.stringify([direction, kind, rule]),
  );
  return [...groups.values()].flatMap((all): readonly Summary[] => {
    const shown = fields.map(
      (_, at) => new Set(all.flatMap((one) => (one.isToday ? (one.combination[at] ?? 0) : []))),
    );
    const isShown = all.some(({ isToday }) => isToday);
    const isNews = ({ combination }: ChangedAnswer): boolean =>
      !isShown ||
      fields.some(
        ({ row }, at) => row !== "request" && shown[at]?.has(combination[at] ?? 0) === false,
      );
    const latent = all.filter((one) => !one.isToday && isNews(one));
    const [answer] = latent;
    if (answer === undefined) return [];
    const met = fields.map(
      (_, at) => new Set(latent.map(({ combination }) => combination[at] ?? 0)),
    );
    const inBox = met.reduce((number, values) => number * values.size, 1);
    const changed = all.filter(({ combination }) =>
      met.every((values, at) => values.has(combination[at] ?? 0)),
    );
    return [
      {
        answer,
        where: fields.flatMap(({ path, values }, at) => {
          const own = met[at] ?? new Set();
          if (own.size === values.length) return [];
          return [
            { path, values: values.flatMap((names, index) => (own.has(index) ? names : [])) },
          ];
        }),
        every: whole && inBox === changed.length,
        combinations: latent.length,
      },
    ];
  });
}
