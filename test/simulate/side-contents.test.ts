import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyStates } from "../../src/lifecycle/lifecycle.ts";
import type { CompiledPolicy, PolicyModule } from "../../src/policy/compiled.ts";
import { initialMode } from "../../src/policy/input-schema.ts";
import {
  compiledSides,
  type CompiledSide,
  type CompiledTree,
} from "../../src/simulate/side-contents.ts";
import { digestOf, LifecycleContext, type NamedContent } from "../lifecycle/lifecycle-context.ts";
import { table } from "../support/table.ts";

const IDS = ["a", "b", "c", "d"];

/** A policy that says nothing: where contents stand does not depend on what they say. */
function policy(id: string, text: string): CompiledPolicy {
  const contract = {
    contract: 1,
    id,
    title: id,
    owners: [],
    operations: [],
    constraints: [],
    obligations: [],
  } as const;
  const digest = digestOf(`${id} ${text}`);
  const stringUse = { strings: [], inspects: [] };
  return {
    contract,
    digest,
    sources: [],
    reasoned: [],
    reads: [],
    relates: false,
    hours: null,
    stringUse,
    path: "",
    locations: {},
  };
}

function moduleOf(policies: readonly CompiledPolicy[]): PolicyModule {
  const units = policies.map((each) => ({ policy: each, entrypoint: each.digest }));
  return { bytes: new Uint8Array(), units };
}

/** Files of one tree: of each policy a text or none, and the modes. */
const tree: fc.Arbitrary<CompiledTree> = fc
  .record({
    texts: fc.array(fc.constantFrom(null, "x", "y"), {
      minLength: IDS.length,
      maxLength: IDS.length,
    }),
    modes: fc.dictionary(fc.constantFrom("*", ...IDS), fc.constantFrom("shadow", "enforce")),
  })
  .map(({ texts, modes }) => {
    const policies = IDS.flatMap((id, index) => {
      const text = texts[index] ?? null;
      return text === null ? [] : [policy(id, text)];
    });
    const rows = { ...table({}), policies: { dir: "policies", initialMode: modes } };
    return {
      table: rows,
      policies: { policies, modules: policies.map((each) => moduleOf([each])) },
    };
  });

function filesOf({ table: rows, policies }: CompiledTree): readonly NamedContent[] {
  return policies.policies.map(({ contract: { id }, digest }) => {
    return {
      policy: id,
      digest,
      module: digestOf(digest),
      initialMode: initialMode(rows, id),
      bytes: Buffer.from(digest),
    };
  });
}

/** `a enforced 0123… rules`: what stands where, by a store. */
function linesOf(states: PolicyStates): readonly string[] {
  return [...states.policies.values()].flatMap(({ id, contents, enforced, candidate }) =>
    (["enforced", "candidate"] as const).flatMap((slot) => {
      const digest = { enforced, candidate }[slot]?.digest;
      return digest === undefined
        ? []
        : [`${id} ${slot} ${digest} ${contents.get(digest)?.content}`];
    }),
  );
}

/** The same, by the simulation. */
function linesOfSide({ contents }: CompiledSide): readonly string[] {
  return contents.map(({ contract: { id }, slot, digest, rules }) => {
    return `${id} ${slot} ${digest} ${rules === null ? "removal" : "rules"}`;
  });
}

describe("the contents of slots", () => {
  it("of a server that runs base and loads head's files match its store", async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(tree, tree, async (base, head) => {
        const context = await LifecycleContext.open();
        await context.observe(filesOf(base), "start");
        const sides = compiledSides(base, head, false);
        expect(linesOfSide(sides.base)).toEqual(linesOf(context.lifecycle.states));
        await context.observe(filesOf(head), "reload");
        expect(linesOfSide(sides.head)).toEqual(linesOf(context.lifecycle.states));
        for (const { slot, isKept, rules } of sides.head.contents)
          seen.add(`${slot} ${isKept} ${rules === null}`);
      }),
      { numRuns: 500 },
    );
    // Kept or not, candidate, removal: otherwise the property is about nothing.
    expect(seen.size).toBe(4);
  });

  it("of a server started anew with head, and of one that has never seen base, match its store", async () => {
    const acting = (lines: readonly string[]): readonly string[] =>
      lines.filter((line) => line.includes(" enforced "));
    await fc.assert(
      fc.asyncProperty(tree, tree, async (base, head) => {
        const context = await LifecycleContext.open();
        await context.observe(filesOf(base));
        const later = await context.another();
        await later.observe(filesOf(head));
        const following = linesOfSide(compiledSides(base, head, false).head);
        expect(acting(following)).toEqual(acting(linesOf(later.lifecycle.states)));
        const first = await LifecycleContext.open();
        await first.observe(filesOf(head));
        expect(linesOfSide(compiledSides(base, head, true).head)).toEqual(
          linesOf(first.lifecycle.states),
        );
      }),
      { numRuns: 300 },
    );
  });

  it("match head's files after every promotion", async () => {
    await fc.assert(
      fc.asyncProperty(tree, tree, async (base, head) => {
        const context = await LifecycleContext.open();
        await context.observe(filesOf(base));
        await context.observe(filesOf(head), "reload");
        for (const { contract, slot } of compiledSides(base, head, false).head.contents) {
          if (slot === "candidate")
            expect(await context.promote(contract.id)).toHaveProperty("kind", "promoted");
        }
        const rules = linesOf(context.lifecycle.states).filter((line) => line.endsWith(" rules"));
        expect(rules).toEqual(
          filesOf(head).map(({ policy: id, digest }) => `${id} enforced ${digest} rules`),
        );
      }),
      { numRuns: 200 },
    );
  });

  it("include base's modules in head only where head keeps some of them", () => {
    fc.assert(
      fc.property(tree, tree, fc.boolean(), (base, head, fresh) => {
        const { contents, modules } = compiledSides(base, head, fresh).head;
        const kept = contents.filter(({ isKept }) => isKept);
        expect(modules.length).toBe(head.policies.modules.length + kept.length);
        for (const { rules } of contents) {
          const held = modules.flatMap(({ units }) => units.map((unit) => unit.policy));
          if (rules !== null) expect(held).toContain(rules);
        }
      }),
    );
  });
});
