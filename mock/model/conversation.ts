/** Facts of the history on which the answer depends; the texts themselves are not kept. */
export interface Conversation {
  readonly messages: number;
  /** Estimated: four characters a token, and four tokens a message. */
  readonly tokens: number;
  /** The conversation ends with the result of a tool. */
  readonly endsWithToolResult: boolean;
}

/** Tokens counted for an image, a sound or a file. */
export const TOKENS_PER_ATTACHMENT = 100;

/** Estimated tokens of a text. */
export function tokensOfText(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Estimated tokens of a list that is read as JSON. */
export function tokensOfList(list: readonly unknown[]): number {
  return list.length === 0 ? 0 : tokensOfText(JSON.stringify(list));
}
