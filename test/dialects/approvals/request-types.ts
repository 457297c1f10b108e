/**
 * The requests that each surface takes, as the official SDKs of its protocol declare them;
 * `sdk-probes.ts` reads these declarations.
 */
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";

export type chat = OpenAI.ChatCompletionCreateParams;
export type completions = OpenAI.CompletionCreateParams;
export type responses = OpenAI.Responses.ResponseCreateParams;
export type embeddings = OpenAI.EmbeddingCreateParams;
export type moderations = OpenAI.ModerationCreateParams;
export type messages = InBody<Anthropic.MessageCreateParams | Anthropic.Beta.MessageCreateParams>;
export type count_tokens = InBody<
  Anthropic.MessageCountTokensParams | Anthropic.Beta.MessageCountTokensParams
>;

/** The SDK sends these two as headers. */
type InBody<Params> = Params extends unknown ? Omit<Params, "betas" | "workspace_id"> : never;
