import { Document, isCollection, isMap, isNode, isPair, isScalar, type Node, type Pair } from "yaml";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { Spot } from "./fields.ts";
import type { ImportedConfiguration } from "./configuration/imported-configuration.ts";
import { type WrittenRow, type WrittenSections, sectionsOf } from "./routes-json.ts";

/** Models up to which one file is easier to read than several. */
const MOST_IN_ONE_FILE = 60;

/** Name of the environment in which the simulated provider answers. */
export const SIMULATED = "simulated";
/** A variable that is never set, so that no provider has its secret in that environment. */
const NEVER_SET = "SIGNALBOX_SIMULATED_PROVIDER_KEY";

const STYLE = { lineWidth: 0, flowCollectionPadding: true } as const;

/** Files of an import below its folder, by path, without the report. */
export function importFiles(
  imported: ImportedConfiguration,
  command: string,
  shown: string,
): ReadonlyMap<string, string> {
  const sections = sectionsOf(imported);
  const files = new Map<string, string>();
  const isLarge = sections.models.size > MOST_IN_ONE_FILE;
  const parts = isLarge ? (["providers", "models", "endpoints", "routes"] as const) : [];
  for (const part of parts) {
    files.set(
      `parts/${part}.yaml`,
      written({ [part]: sections[part] }, ` Part of routes.yaml, by \`${command}\`.`, shown),
    );
  }
  const { regions, workspaces, policies, vocabulary, ...supply } = sections;
  const main = {
    version: 1,
    ...(isLarge ? { include: ["parts/*.yaml"] } : {}),
    regions,
    ...(isLarge ? {} : supply),
    workspaces,
    ...(policies === null ? {} : { policies }),
    ...(vocabulary === null ? {} : { vocabulary }),
  };
  files.set("routes.yaml", written(main, headOf(command), shown));
  files.set(`routes.${SIMULATED}.yaml`, overlayOf(sections));
  for (const policy of imported.policies) for (const [path, text] of policy.files) files.set(`policies/${path}`, text);
  return files;
}

function headOf(command: string): string {
  return ` Written by \`${command}\`. The report beside it says what became of each line of the source;
 comments here name the lines that a row comes from. What a provider does with requests depends on your
 contracts: \`trains_on_data: true\` gets only requests with \`"provider": {"data_collection": "allow"}\`.`;
}

type Section = JsonValue | ReadonlyMap<string, WrittenRow> | readonly WrittenRow[];

function isRows(value: Section): value is ReadonlyMap<string, WrittenRow> {
  return value instanceof Map;
}

function isRowList(value: Section): value is readonly WrittenRow[] {
  return Array.isArray(value) && value.every((item) => typeof item === "object" && item !== null && "spots" in item);
}

function written(sections: Readonly<Record<string, Section>>, head: string, shown: string): string {
  const document = new Document({});
  document.commentBefore = head;
  for (const [name, section] of Object.entries(sections)) document.add(sectionPair(document, name, section, shown));
  return document.toString(STYLE);
}

/** No anchors: two rows that say the same are two rows. */
const PLAIN = { aliasDuplicateObjects: false } as const;

function sectionPair(document: Document, name: string, section: Section, shown: string): Pair {
  const key = document.createNode(name);
  key.spaceBefore = true;
  const rows = isRows(section) ? [...section.values()] : isRowList(section) ? section : null;
  const plain = isRows(section)
    ? new Map([...section].map(([id, { value }]) => [id, value] as const))
    : isRowList(section)
      ? section.map(({ value }) => value)
      : section;
  const node = document.createNode(plain, PLAIN);
  if (isCollection(node)) {
    for (const [index, item] of node.items.entries()) {
      const origin = originOf(rows?.[index]?.spots ?? [], shown);
      const named: unknown = isPair(item) ? item.key : item;
      if (origin !== null && isNode(named)) named.commentBefore = origin;
    }
    if (node.items.length === 0) node.flow = true;
    flowBelow(node, isMap(node) && rows !== null ? 2 : 1);
  }
  return document.createPair(key, node);
}

/** Collections so many steps below a node are written on one line; `approve` is one step longer. */
function flowBelow(node: unknown, steps: number): void {
  if (!isCollection(node)) return;
  if (steps === 0) {
    node.flow = true;
    return;
  }
  for (const item of node.items) {
    const value: unknown = isPair(item) ? item.value : item;
    const isLong = isPair(item) && isScalar(item.key) && item.key.value === "approve";
    flowBelow(value, isLong ? steps : steps - 1);
  }
}

/** ` config.yaml:3, 17` */
function originOf(spots: readonly Spot[], shown: string): string | null {
  const files = new Map<string, Set<number>>();
  for (const { at } of spots) {
    const file = at.file ?? shown;
    files.set(file, (files.get(file) ?? new Set()).add(at.line));
  }
  const origins = [...files].map(([file, lines]) => {
    const sorted = [...lines].toSorted((left, right) => left - right);
    return `${file}:${sorted.slice(0, 6).join(", ")}${sorted.length > 6 ? " and others" : ""}`;
  });
  return origins.length === 0 ? null : ` ${origins.join("; ")}`;
}

/** The overlay in which no provider is called: each has a secret that is not set. */
function overlayOf({ providers }: WrittenSections): string {
  const rows = Object.fromEntries(
    [...providers].map(([id, { value }]) => {
      const auth = typeof value === "object" && value !== null && "auth" in value ? value["auth"] : undefined;
      const given: JsonObject = { bearer: { env: NEVER_SET }, on_missing_secret: "simulate" };
      return [id, { auth: { ...removed(auth), ...given } }];
    }),
  );
  const document = new Document({ providers: rows }, PLAIN);
  document.commentBefore = ` The environment \`${SIMULATED}\`: the simulated provider answers for every row, and none is called.

   signalbox serve --environment ${SIMULATED} --demo

 Remove this file when you serve real traffic.`;
  const root: Node | null = document.contents;
  flowBelow(root, 2);
  return document.toString(STYLE);
}

/** An overlay's mapping merges with the row's: the other form of `auth` has to go. */
function removed(auth: JsonValue | undefined): JsonObject {
  if (typeof auth !== "object" || auth === null || Array.isArray(auth)) return {};
  return Object.fromEntries(
    Object.keys(auth)
      .filter((key) => key !== "bearer")
      .map((key) => [key, null]),
  );
}
