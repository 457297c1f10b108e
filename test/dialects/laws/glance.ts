import type { JsonObject } from "../../../src/canon/json.ts";
import type { Operation } from "../../../src/canon/operation.ts";
import { PARAMETERS, PDF, PIXELS, SCHEMA } from "./probes/probe.ts";

/** What people ask first of a pair of protocols, in the order of the summary's rows. */
export const ASPECTS = [
  "tools",
  "parallel tool calls and their results",
  "`json_schema`",
  "an image",
  "a PDF",
  "reasoning",
  "streaming",
] as const;

type Bodies = Readonly<Partial<Record<(typeof ASPECTS)[number], JsonObject>>>;

const image = `data:image/png;base64,${PIXELS}`;
const pdf = `data:application/pdf;base64,${PDF}`;
const functionTool = { name: "look_up", description: "Looks up", parameters: PARAMETERS };
const json = '{"city":"Ghent"}';

/** One body a surface and aspect; a surface whose protocol has no such thing has none. */
export const GLANCE: Readonly<Partial<Record<Operation, Bodies>>> = {
  "chat.completions": {
    tools: { tools: [{ type: "function", function: functionTool }] },
    "parallel tool calls and their results": {
      tools: [{ type: "function", function: functionTool }],
      messages: [
        { role: "user", content: "Both?" },
        {
          role: "assistant",
          tool_calls: ["c1", "c2"].map((id) => ({
            id,
            type: "function",
            function: { name: "look_up", arguments: json },
          })),
        },
        { role: "tool", tool_call_id: "c1", content: "dry" },
        { role: "tool", tool_call_id: "c2", content: "wet" },
      ],
    },
    "`json_schema`": {
      response_format: { type: "json_schema", json_schema: { name: "weather", schema: SCHEMA } },
    },
    "an image": {
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: image } }] }],
    },
    "a PDF": {
      messages: [
        { role: "user", content: [{ type: "file", file: { filename: "a.pdf", file_data: pdf } }] },
      ],
    },
    reasoning: { reasoning_effort: "high" },
    streaming: { stream: true },
  },
  completions: { streaming: { stream: true } },
  responses: {
    tools: { tools: [{ type: "function", ...functionTool, strict: false }] },
    "parallel tool calls and their results": {
      tools: [{ type: "function", ...functionTool, strict: false }],
      input: [
        { role: "user", content: "Both?" },
        ...["c1", "c2"].map((id) => ({
          type: "function_call",
          call_id: id,
          name: "look_up",
          arguments: json,
        })),
        ...["c1", "c2"].map((id) => ({ type: "function_call_output", call_id: id, output: "dry" })),
      ],
    },
    "`json_schema`": { text: { format: { type: "json_schema", name: "weather", schema: SCHEMA } } },
    "an image": { input: [{ role: "user", content: [{ type: "input_image", image_url: image }] }] },
    "a PDF": {
      input: [
        { role: "user", content: [{ type: "input_file", filename: "a.pdf", file_data: pdf }] },
      ],
    },
    reasoning: { reasoning: { effort: "high" } },
    streaming: { stream: true },
  },
  messages: {
    tools: { tools: [{ name: "look_up", description: "Looks up", input_schema: PARAMETERS }] },
    "parallel tool calls and their results": {
      tools: [{ name: "look_up", description: "Looks up", input_schema: PARAMETERS }],
      messages: [
        { role: "user", content: "Both?" },
        {
          role: "assistant",
          content: ["c1", "c2"].map((id) => ({
            type: "tool_use",
            id,
            name: "look_up",
            input: { city: "Ghent" },
          })),
        },
        {
          role: "user",
          content: ["c1", "c2"].map((id) => ({
            type: "tool_result",
            tool_use_id: id,
            content: "dry",
          })),
        },
      ],
    },
    "`json_schema`": { output_config: { format: { type: "json_schema", schema: SCHEMA } } },
    "an image": {
      messages: [
        {
          role: "user",
          content: [
            { type: "image", source: { type: "base64", media_type: "image/png", data: PIXELS } },
          ],
        },
      ],
    },
    "a PDF": {
      messages: [
        {
          role: "user",
          content: [
            {
              type: "document",
              source: { type: "base64", media_type: "application/pdf", data: PDF },
            },
          ],
        },
      ],
    },
    reasoning: { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
    streaming: { stream: true },
  },
};
