/** The requests that each surface takes, as the official SDKs of its protocol declare them; `sdk-probes.ts` reads these declarations. */
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";

export type chat = OpenAI.ChatCompletionCreateParams;
export type completions = OpenAI.CompletionCreateParams;
export type responses = OpenAI.Responses.ResponseCreateParams;
export type embeddings = OpenAI.EmbeddingCreateParams;
export type moderations = OpenAI.ModerationCreateParams;
export type messages = Anthropic.MessageCreateParams | Anthropic.Beta.MessageCreateParams;
export type count_tokens = Anthropic.MessageCountTokensParams | Anthropic.Beta.MessageCountTokensParams;
