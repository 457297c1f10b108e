import type { JsonObject } from "../json.ts";

/** Categories in answers to moderations, in the order of OpenAI's specification. */
export const MODERATION_CATEGORIES = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/intent",
  "self-harm/instructions",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
] as const;
export type ModerationCategory = (typeof MODERATION_CATEGORIES)[number];

/**
 * A model's own categories → those of callers that they count for; an empty list: callers do not
 * see the category. Declared in routes.yaml (`moderation_categories`): what one vendor's category
 * means in another's is for an operator to say, not for code.
 */
export type CategoryMapping = Readonly<Record<string, readonly ModerationCategory[]>>;

export type ModerationPart = (
  | { readonly type: "text"; readonly text: string }
  /** An address or a data URL, as the caller wrote it. */
  | { readonly type: "image"; readonly url: string }
) & {
  /**
   * The part as it came, where it has members that only an endpoint of the surface's own protocol
   * is sent; `null` where it has none.
   */
  readonly forwarded: JsonObject | null;
};

/** What is judged together. */
export type ModerationInput =
  | {
      readonly kind: "text";
      readonly text: string;
      /** Written without a list around it. */ readonly isScalar: boolean;
    }
  | { readonly kind: "texts"; readonly texts: readonly string[] }
  | { readonly kind: "parts"; readonly parts: readonly ModerationPart[] };

export interface ModerateRequest {
  readonly input: ModerationInput;
  /** Members that only an endpoint of the surface's own protocol is sent, as they came. */
  readonly extras: JsonObject;
}

export interface CategoryVerdict {
  /** `null`: the model does not judge the category. */
  readonly flagged: boolean | null;
  /** 0 to 1; `null` where the model does not judge the category. */
  readonly score: number | null;
  /** Which kinds of input were judged for it; empty where none was. */
  readonly appliedTo: readonly ("text" | "image")[];
}

export interface ModerationVerdict {
  /** As the provider says it, or where some category is; never false where one is. */
  readonly flagged: boolean;
  readonly categories: Readonly<Record<ModerationCategory, CategoryVerdict>>;
}

/** One endpoint's answer, checked: one verdict for each text, or one for all parts together. */
export interface ModerateResult {
  readonly operation: "moderate";
  readonly verdicts: readonly ModerationVerdict[];
  readonly id: string | null;
  readonly model: string | null;
  readonly inputTokens: number | null;
  /**
   * Some category of callers was not judged by the model, and reads as not flagged where the answer
   * is printed anew.
   */
  readonly hasUnjudged: boolean;
  /** The answer is already what the caller's protocol says, to the byte. */
  readonly isVerbatim: boolean;
}
