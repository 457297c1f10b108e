import type { LabelCondition } from "../configuration/policies.ts";
import { asId } from "../configuration/names.ts";
import type { Fields, Item } from "../source/fields.ts";

/** Groups of terms above which a condition is nothing that a person reads. */
const MOST_GROUPS = 32;

/** What a condition requires of metadata, as labels of the key; `null` for what labels cannot say. */
export function labelCondition(query: Fields): LabelCondition | null {
  let found: LabelCondition | null = [[]];
  for (const [name, item] of query.entries()) {
    const part = name === "$and" || name === "$or" ? joined(query, name, item) : ofMetadata(query, name, item);
    found = found === null || part === null ? null : and(found, part);
  }
  return found !== null && found.length <= MOST_GROUPS ? found : null;
}

/** Models that a condition on `params.model` names; `null` for any other condition. */
export function modelCondition(query: Fields): readonly string[] | null {
  const entries = query.entries();
  const [first] = entries;
  if (first === undefined || entries.length > 1 || first[0] !== "params.model") return null;
  return valuesOf(query, first[1], ["$eq", "$in"]);
}

function joined(query: Fields, name: string, item: Item): LabelCondition | null {
  const parts = query.itemsOf(item).map((one) => {
    const fields = query.fieldsOf(one);
    return fields === null ? null : labelCondition(fields);
  });
  return parts.reduce<LabelCondition | null>(
    (left, right) => {
      if (left === null || right === null) return null;
      return name === "$and" ? and(left, right) : [...left, ...right];
    },
    name === "$and" ? [[]] : [],
  );
}

function and(left: LabelCondition, right: LabelCondition): LabelCondition | null {
  if (left.length * right.length > MOST_GROUPS) return null;
  return left.flatMap((one) => right.map((other) => [...one, ...other]));
}

function ofMetadata(query: Fields, name: string, item: Item): LabelCondition | null {
  const key = /^metadata\.(.+)$/.exec(name)?.[1];
  if (key === undefined) return null;
  const label = (value: string): string => asId(`${key}-${value}`, "label");
  const positive = valuesOf(query, item, ["$eq", "$in"]);
  if (positive !== null) return positive.map((value) => [{ label: label(value), holds: true }]);
  const negative = valuesOf(query, item, ["$ne", "$nin"]);
  return negative === null ? null : [negative.map((value) => ({ label: label(value), holds: false }))];
}

/** Texts of the only operator of a term, if it is one of these; a value alone is `$eq`. */
function valuesOf(query: Fields, item: Item, operators: readonly [string, string]): readonly string[] | null {
  if (item.node.kind === "scalar") return operators[0] === "$eq" ? [String(item.node.value)] : null;
  if (item.node.kind !== "map" || item.node.members.size !== 1) return null;
  const [[operator, member] = [undefined, undefined]] = item.node.members;
  if (operator === undefined || member === undefined || !operators.includes(operator)) return null;
  const { node } = member;
  if (node.kind === "scalar") return [String(node.value)];
  return node.kind === "list" ? query.textsOf({ ...item, node }).map(({ text }) => text) : null;
}
