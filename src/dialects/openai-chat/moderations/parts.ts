import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";

/** Members that canon has a place for, by the object they stand in. */
const MEMBERS = {
  text: new Set(["type", "text"]),
  image_url: new Set(["type", "image_url"]),
  image: new Set(["url"]),
} as const;

/** Path of the first unknown member of a part; `null` where there is none. Null counts as absent. */
export function strangePartMember(input: JsonValue | undefined): string | null {
  if (!Array.isArray(input)) return null;
  const items: readonly JsonValue[] = input;
  for (const [index, item] of items.entries()) {
    const found = isJsonObject(item) ? strangeMemberOfPart(item, `input[${index}]`) : null;
    if (found !== null) return found;
  }
  return null;
}

/**
 * The same for one part.
 *
 * @param path where it stands in the body.
 */
export function strangeMemberOfPart(part: JsonObject, path: string): string | null {
  const { type, image_url: image } = part;
  return (
    strangeMember(part, type === "text" ? MEMBERS.text : MEMBERS.image_url, path) ??
    (isJsonObject(image) ? strangeMember(image, MEMBERS.image, `${path}.image_url`) : null)
  );
}

function strangeMember(object: JsonObject, known: ReadonlySet<string>, path: string): string | null {
  for (const name in object) {
    if (known.has(name) || object[name] === null || object[name] === undefined) continue;
    return /^[A-Za-z_$][\w$-]{0,63}$/.test(name) ? `${path}.${name}` : `${path}.*`;
  }
  return null;
}

/** The 400 for such a member, where the route refuses what it does not know. */
export function strangePartError(path: string): ServiceError {
  return invalidRequest(
    "unknown_field",
    `Unknown field ${path}: parts of a moderation input have no such member`,
    path,
  );
}
