import { invalidRequest, serviceError, type ServiceError } from "../../../canon/error.ts";

/** One entity tag of RFC 9110 §8.8.3, with `W/` where it is weak. */
const TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/;

/** More than anybody has looked at. */
const MOST_TAGS = 16;

/**
 * The strong entity tag of `If-Match` to act on: the present one where the header names it, otherwise one that does not fit.
 *
 * @param present the policy's tag now. @param header node joins several headers of the name with commas, as RFC 9110 §5.3 has it.
 */
export function readIfMatch(header: string | undefined, present: string): string | ServiceError {
  if (header === undefined || header.trim() === "" || header.trim() === "*") {
    return serviceError(
      428,
      "precondition",
      "precondition_required",
      "Send If-Match with the ETag of GET /v1/policies/{id}; * is not accepted, because it does not identify a state.",
      { param: "If-Match" },
    );
  }
  const tags = readTags(header);
  if (tags === null) {
    const message = 'If-Match must be an entity tag with its quotation marks, such as "0123abcd"';
    return invalidRequest("invalid_value", message, "If-Match");
  }
  // Strong comparison: a weak tag fits nothing.
  return tags.find((tag) => tag === present) ?? tags[0] ?? "";
}

/** `null` where the text is no list of entity tags. */
function readTags(header: string): readonly string[] | null {
  const tags: string[] = [];
  let rest = header.trim();
  while (tags.length < MOST_TAGS) {
    const [tag] = TAG.exec(rest) ?? [];
    if (tag === undefined) return null;
    tags.push(tag);
    rest = rest.slice(tag.length).trimStart();
    if (rest === "") return tags;
    if (!rest.startsWith(",")) return null;
    rest = rest.slice(1).trimStart();
  }
  return null;
}
