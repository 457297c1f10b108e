import { describe, expect, it } from "vitest";
import { editSet } from "../../../src/canon/generate/edit.ts";
import { endpointFeatures } from "../../../src/compile/resolve/endpoints.ts";
import { DIALECTS } from "../../../src/dialects/table.ts";
import { completionsSurface } from "../../../src/dialects/openai-completions/dialect.ts";
import { NO_EDITS, NO_HEADERS, targetOf } from "../laws/target.ts";
import { canon } from "../openai-chat/canon.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const completionsUpstream = upstreamFor("generate", "openai-completions");

const target = targetOf("openai-completions");

function targetWith(flags: readonly string[]) {
  return { ...target, provider: { ...target.provider, flags } };
}

describe("vendors of legacy completions", () => {
  it("omit members on relays that the provider refuses even without a value", () => {
    const request = completionsSurface.parse(
      { model: "r", prompt: "p", seed: null, logit_bias: {} },
      10,
      NO_HEADERS,
    );
    if ("code" in request) throw new Error(request.message);
    const edit = (flags: readonly string[]) =>
      completionsSurface.relay.edit(
        request,
        target.endpoint,
        targetWith(flags).provider,
        "reject",
        NO_EDITS,
      );
    expect(edit(["no_seed", "no_logit_bias"])).toEqual({
      body: { model: "upstream-model", prompt: "p" },
      edits: editSet("model_replaced"),
      stripped: ["seed", "logit_bias"],
      headers: [],
      dropped: [],
    });
    expect(edit([]).body).toEqual({
      model: "upstream-model",
      prompt: "p",
      seed: null,
      logit_bias: {},
    });
  });

  it("omit them on translations too", () => {
    const body = (flags: readonly string[]) => {
      const formatted = completionsUpstream.format(canon({ logitBias: {} }), targetWith(flags));
      if ("code" in formatted) throw new Error(formatted.message);
      return formatted.body;
    };
    expect(body([])).toHaveProperty("logit_bias", {});
    expect(body(["no_logit_bias"])).not.toHaveProperty("logit_bias");
  });

  it("refuse missing features by name", () => {
    const { native, translated } = endpointFeatures(
      DIALECTS["openai-completions"],
      target.model,
      targetWith(["no_seed", "no_logit_bias"]).provider,
    );
    for (const features of [native, translated]) {
      expect(features).not.toContain("seed");
      expect(features).not.toContain("logit_bias");
      expect(features).toContain("sampling");
    }
  });

  it("report errors beside the object's kind, in streams and whole", () => {
    const error = JSON.stringify({ object: "error", message: "m", code: 500 });
    const encoder = new TextEncoder();
    const parser = completionsUpstream.parseStream(canon({ stream: true }), target);
    const chunk = JSON.stringify({ choices: [{ index: 0, text: "a", finish_reason: null }] });
    const events = [
      ...parser.push(encoder.encode(`data: ${chunk}\n\ndata: ${error}\n\ndata: [DONE]\n\n`)),
      ...parser.endAnswer(),
    ];
    for (const reported of [
      events,
      completionsUpstream.parseAnswer(encoder.encode(error), canon(), target),
    ]) {
      expect(reported.at(-1)).toMatchObject({ type: "failure", failure: { kind: "error_frame" } });
    }
  });
});
