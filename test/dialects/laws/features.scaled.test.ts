import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import { generousModel, outcomeOf, probesOf, type Outcome } from "./matrix.ts";
import { DIALECT_NAMES, MODEL, NO_EDITS, targetOf } from "./target.ts";
import type { Probe } from "./probes/probe.ts";
import { SURFACES, type Spoken } from "./table.ts";
import { featuresUsed } from "./uses.ts";
import { fewOrMany } from "../../support/long.ts";

const RUNS = fewOrMany(100, 300);

/**
 * Every target: each dialect with a plain model, and with one that takes all that some models take.
 */
const TARGETS = DIALECT_NAMES.flatMap((name) => [
  { name, target: targetOf(name, MODEL) },
  { name: `${name}, generous`, target: targetOf(name, generousModel(name)) },
]);

/**
 * What a translation may refuse although the decision let it through: a value that no provider of
 * another protocol could be sent.
 */
const BROKEN_VALUE = "invalid_tool_arguments";

/** Leaves that say nothing to a provider of another protocol, and why. */
const SAYS_NOTHING: Readonly<Record<string, string>> = {
  "stream_options.include_obfuscation":
    "pads the protocol's own stream on its way from the provider; a translated stream is the router's",
};

function whole(spoken: Spoken, probe: Probe): Pick<Probe, "body" | "headers"> {
  return { body: { ...spoken.body, ...probe.body }, headers: probe.headers };
}

type Path = readonly (string | number)[];

/** Every leaf of a body: what is neither an object nor a list. An empty one is a leaf too. */
function leavesOf(value: JsonValue | undefined, path: Path = []): readonly Path[] {
  if (Array.isArray(value) && value.length > 0)
    return value.flatMap((item: JsonValue, index) => leavesOf(item, [...path, index]));
  if (isJsonObject(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([name, item]) => leavesOf(item, [...path, name]));
  return [path];
}

function valueAt(value: JsonValue | undefined, path: Path): JsonValue | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(value) && typeof step === "number") return valueAt(value[step], rest);
  return isJsonObject(value) ? valueAt(value[step], rest) : undefined;
}

/**
 * The body with another value at the path; without the member or the item where the value is
 * `undefined`.
 */
function withValue(value: JsonValue, path: Path, next: JsonValue | undefined): JsonValue {
  const [step, ...rest] = path;
  if (step === undefined) return next ?? null;
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    return items.flatMap((item, index): readonly JsonValue[] =>
      index !== step
        ? [item]
        : rest.length === 0 && next === undefined
          ? []
          : [withValue(item, rest, next)],
    );
  }
  if (!isJsonObject(value)) throw new Error(`no member ${step}`);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) =>
      name !== step
        ? [[name, item]]
        : rest.length === 0 && next === undefined
          ? []
          : [[name, withValue(item ?? null, rest, next)]],
    ),
  );
}

/** Another value of the same type. */
function altered(value: JsonValue | undefined): JsonValue | null {
  // Base64 stays base64, and JSON stays JSON where it can: the change must reach the far end, not
  // be refused at the first look.
  if (typeof value === "string" && /^data:[\w/]+;base64,/.test(value))
    return value.replace(/,./, (start) => (start === ",A" ? ",B" : ",A"));
  if (typeof value === "string")
    return value.startsWith('{"city"') ? '{"city":"Bruges"}' : `${value}x`;
  if (typeof value === "number") return Number.isInteger(value) ? value + 1 : value / 2;
  // An empty list or object says nothing; there is no other of its type that says nothing else.
  return typeof value === "boolean" ? !value : null;
}

/** A request that the decision let through, and that could then not be sent. */
function isWrongly(outcome: Outcome): outcome is Extract<Outcome, { by: "translation" }> {
  return (
    outcome.kind === "refused" && outcome.by === "translation" && outcome.code !== BROKEN_VALUE
  );
}

const objectOf = (value: JsonValue): JsonObject => (isJsonObject(value) ? value : {});

/** Whether two bodies end alike: sent as the same, with the same said to be lost. */
function same(left: Outcome, right: Outcome): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/**
 * Why a leaf's disappearance would not be noticed at a target; `null` where it would. A leaf is
 * mapped (another value makes another request, or is refused), or reported: without it, or without
 * the smallest thing around it that a request can do without, less is said to be lost or stripped.
 */
function unnoticed(
  spoken: Spoken,
  { body, headers }: Pick<Probe, "body" | "headers">,
  path: Path,
  target: ReturnType<typeof targetOf>,
  outcome: Outcome,
): string | null {
  const next = altered(valueAt(body, path));
  if (next === null || Object.hasOwn(SAYS_NOTHING, path.join("."))) return null;
  const run = (changed: JsonValue): Outcome =>
    outcomeOf(spoken, { body: objectOf(changed), headers }, target);
  if (!same(run(withValue(body, path, next)), outcome)) return null;
  for (let length = path.length; length > 0; length -= 1) {
    const without = run(withValue(body, path.slice(0, length), undefined));
    if (without.kind === "refused" || outcome.kind === "refused") continue;
    const said = [outcome.dropped, outcome.stripped].toString();
    if ([without.dropped, without.stripped].toString() !== said) return null;
  }
  return `${path.join(".")} of ${JSON.stringify(body)}`;
}

/** Some rows of different members, to be said in one body. */
function someProbes(probes: readonly Probe[]): fc.Arbitrary<readonly Probe[]> {
  return fc.uniqueArray(fc.constantFrom(...probes), {
    minLength: 1,
    maxLength: 6,
    selector: ({ of }) => of.join(),
  });
}

function together(spoken: Spoken, chosen: readonly Probe[]): JsonObject {
  return chosen.reduce<JsonObject>((all, probe) => ({ ...all, ...probe.body }), spoken.body);
}

describe.each(SURFACES)("the surface of $operation", (spoken) => {
  const probes = probesOf(spoken);

  it.each(TARGETS)("every request that the decision admits to $name is sent", ({ target }) => {
    const refused = probes.flatMap((probe) => {
      const outcome = outcomeOf(spoken, whole(spoken, probe), target);
      return isWrongly(outcome) ? [`${probe.says}: ${outcome.code} ${outcome.param}`] : [];
    });
    expect(refused).toEqual([]);
  });

  it.each(TARGETS)("no leaf of any row disappears on the way to $name", ({ target }) => {
    const lost: string[] = [];
    for (const probe of probes) {
      const requested = whole(spoken, probe);
      const outcome = outcomeOf(spoken, requested, target);
      if (outcome.kind === "refused") continue;
      for (const path of leavesOf(requested.body)) {
        const why = unnoticed(spoken, requested, path, target, outcome);
        if (why !== null) lost.push(`${probe.says}: ${why}`);
      }
    }
    expect(lost).toEqual([]);
  });

  it("the parser finds in a body the features that its canon uses", () => {
    fc.assert(
      fc.property(someProbes(probes), (chosen) => {
        const request = spoken.read(together(spoken, chosen), chosen[0]?.headers ?? undefined);
        if ("code" in request) return;
        const canonical = spoken.surface.translation.toCanon(request, "reject", NO_EDITS);
        if ("code" in canonical) return;
        const { features } = request.shape;
        // What canon cannot express never gets there; `toCanon` may read such a body all the same.
        if (features.some((feature) => feature.startsWith("native_"))) return;
        expect(features, chosen.map(({ says }) => says).join(" + ")).toEqual(
          featuresUsed(canonical.request),
        );
      }),
      { numRuns: RUNS * 2 },
    );
  });

  it("every combination that the decision admits is sent, and no leaf disappears", () => {
    fc.assert(
      fc.property(
        someProbes(probes),
        fc.constantFrom(...TARGETS),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (chosen, { target }, share) => {
          const body = together(spoken, chosen);
          const requested = { body, headers: null };
          const outcome = outcomeOf(spoken, requested, target);
          const names = chosen.map(({ says }) => says).join(" + ");
          // A budget that leaves no room under a limit of another row is the caller's mistake,
          // which printers find.
          const isUnfit = outcome.kind === "refused" && outcome.code === "invalid_reasoning_budget";
          expect(isWrongly(outcome) && !isUnfit, names).toBe(false);
          const leaves = leavesOf(body);
          const path = leaves[Math.floor(share * leaves.length)] ?? [];
          // Two members may be dropped under one name: then omitting one of them changes nothing.
          const isReported = outcome.kind === "refused" || outcome.dropped.length > 0;
          expect(
            isReported || unnoticed(spoken, requested, path, target, outcome) === null,
            names,
          ).toBe(true);
        },
      ),
      { numRuns: RUNS },
    );
  });
});
