import { error, type CodeFacts } from "../../canon/diagnostic.ts";

/** Findings about the text of routes.yaml and the shape of its values, whatever they mean. */
export const TEXT_CODES = {
  SOURCE_UNREADABLE: error(
    "The file cannot be read, is not UTF-8 text, is not a regular file below the folder of routes.yaml, or is larger than 4 MiB.",
    "Check the path, its permissions and the file's encoding. If a link points out of the folder, put the file itself there.",
  ),
  SOURCE_TOO_LARGE: error(
    "The file is larger than one megabyte.",
    "Split it into files with `include`; where one alone is as large, into several routers.",
  ),
  YAML_SYNTAX: error(
    "The text is not valid YAML 1.2.",
    "Correct the line named; most often an indentation, a quote or a bracket.",
  ),
  YAML_DUPLICATE_KEY: error(
    "A mapping has the same key twice; one of the two would be ignored.",
    "Keep one of them.",
  ),
  YAML_MULTIPLE_DOCUMENTS: error(
    "The file has more than one YAML document; all but the first would be ignored.",
    "Remove the `---` between them and merge the documents.",
  ),
  YAML_ALIAS: error(
    "An alias names no anchor, contains itself, or expands to far more than the file contains.",
    "Write the value out.",
  ),
  YAML_MERGE_KEY: error(
    "`<<` merges mappings, which YAML 1.2 does not have and which hides the values of a row.",
    "Write the members out, or use an alias for a whole value.",
  ),
  YAML_TAG: error(
    "A tag (`!something`) names a type that this file does not use.",
    "Remove the tag.",
  ),
  YAML_KEY: error("A key is a list or a mapping instead of a name.", "Use a plain name as key."),
  RESERVED_NAME: error(
    "A name that JavaScript objects use themselves, such as `constructor`.",
    "Choose another name.",
  ),
  UNKNOWN_KEY: error(
    "A key that is not allowed here. Signalbox reports every unknown key.",
    "Correct its spelling or remove it; `docs/configuration.md` lists all keys.",
  ),
  MISSING_KEY: error("A required key is absent.", "Add it."),
  WRONG_TYPE: error(
    "A value has the wrong type for its key.",
    "Write the value in the type named.",
  ),
  WRONG_VALUE: error(
    "A value has the right type but is out of range, misspelt or of the wrong form.",
    "Use one of the values named.",
  ),
  DUPLICATE_ITEM: error("A list has the same item twice.", "Remove the repetition."),
  DUPLICATE_ID: error("Two endpoints have the same id.", "Give one of them another id."),
  VERSION_UNSUPPORTED: error(
    "The file is written for another version of the format.",
    "Write `version: 1`, or run the release of Signalbox that supports the version.",
  ),
  LITERAL_SECRET: error(
    "The file contains a credential, or a value that looks like one. Messages never repeat the value.",
    "Revoke the credential if it was committed, then refer to it: `{env: NAME}` or `{file: path}`.",
  ),
} as const satisfies Record<string, CodeFacts>;

export type TextCode = keyof typeof TEXT_CODES;
