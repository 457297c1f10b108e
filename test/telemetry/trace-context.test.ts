import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatTraceContext, parseTraceContext } from "../../src/telemetry/trace-context.ts";
import { OtlpSettingError, readOtlpSettings } from "../../src/telemetry/otlp-settings.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const GOOD = `00-${TRACE}-${SPAN}-01`;
const parse = (traceparent: string | undefined, tracestate?: string | readonly string[]) =>
  parseTraceContext({ traceparent, tracestate });

describe("W3C trace context", () => {
  it("is parsed by the W3C recommendation", () => {
    expect(parse(GOOD)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true, state: null });
    expect(parse(`00-${TRACE}-${SPAN}-00`)?.isSampled).toBe(false);
    expect(parse(`cc-${TRACE}-${SPAN}-01-what-comes-later`)?.traceId).toBe(TRACE);
  });

  it.each([
    [undefined],
    [""],
    [`ff-${TRACE}-${SPAN}-01`],
    [`00-${TRACE}-${SPAN}-01-more`],
    [`00-${TRACE.toUpperCase()}-${SPAN}-01`],
    [`00-${"0".repeat(32)}-${SPAN}-01`],
    [`00-${TRACE}-${"0".repeat(16)}-01`],
    [`00-${TRACE}-${SPAN}`],
    [`cc-${TRACE}-${SPAN}-01-${"x".repeat(600)}`],
  ])("is null where the header is %j", (header) => {
    expect(parse(header)).toBeNull();
  });

  it.each([
    ["a=1,b@c=2", "a=1,b@c=2"],
    [" a=1 , b=2 ", "a=1,b=2"],
    ["a=1,a=2", null],
    ["a", null],
    ["A=1", null],
    ["a=1=2", null],
    ["a=\u00e9", null],
    [`a=${"x".repeat(600)}`, null],
    [Array.from({ length: 33 }, (_, position) => `k${position}=1`).join(","), null],
  ])("keeps of the state %j the valid one %j", (state, kept) => {
    expect(parse(GOOD, state)?.state).toBe(kept);
  });

  it("is printed unchanged, and forwards no more than allowed", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (parent, state) => {
        const context = parse(fc.sample(fc.constantFrom(parent, GOOD), 1)[0], state);
        if (context === null) return;
        const headers = formatTraceContext(context);
        const [, traceparent, , tracestate] = headers;
        expect(parse(traceparent, tracestate)).toEqual(context);
        expect(headers.join("").length).toBeLessThan(600);
      }),
    );
  });
});

describe("OpenTelemetry's variables", () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318" };

  it("export nothing unless an address is given", () => {
    expect(readOtlpSettings({})).toBeNull();
    expect(readOtlpSettings({ ...endpoint, OTEL_SDK_DISABLED: "true" })).toBeNull();
    expect(
      readOtlpSettings({
        ...endpoint,
        OTEL_TRACES_EXPORTER: "none",
        OTEL_METRICS_EXPORTER: "none",
      }),
    ).toBeNull();
    expect(readOtlpSettings(endpoint)).toMatchObject({ traces: true, metrics: true });
    const only = readOtlpSettings({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://c:4318/v1/traces",
    });
    expect(only).toMatchObject({
      traces: true,
      metrics: false,
      sampler: { isParentBased: true, share: 1 },
    });
  });

  it("choose the sampler by its name and argument", () => {
    const sampler = (name: string, arg?: string) =>
      readOtlpSettings({
        ...endpoint,
        OTEL_TRACES_SAMPLER: name,
        ...(arg === undefined ? {} : { OTEL_TRACES_SAMPLER_ARG: arg }),
      })?.sampler;
    expect(sampler("traceidratio", "0.25")).toEqual({ isParentBased: false, share: 0.25 });
    expect(sampler("parentbased_always_off")).toEqual({ isParentBased: true, share: 0 });
  });

  it.each([
    [{ OTEL_TRACES_SAMPLER: "secret-name" }, "OTEL_TRACES_SAMPLER: must be one of"],
    [
      { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" },
      "OTEL_TRACES_SAMPLER_ARG",
    ],
    [{ OTEL_BSP_MAX_QUEUE_SIZE: "-1" }, "OTEL_BSP_MAX_QUEUE_SIZE"],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, "OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not supported"],
  ])("are refused by name where they cannot be used: %j", (more, message) => {
    const read = () => readOtlpSettings({ ...endpoint, ...more });
    expect(read).toThrow(OtlpSettingError);
    expect(read).toThrow(message);
    expect(read).not.toThrow("secret-name");
  });
});
