import { describe, expect, it } from "vitest";
import { parseServeOptions } from "../../../src/cli/serve/options.ts";

const TLS = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

function exposureOf(...argv: readonly string[]) {
  const io = { stdout: () => {}, stderr: () => {}, environment: {}, cwd: "/srv" };
  return parseServeOptions(argv, io).exposure;
}

describe("an address that other machines reach", () => {
  it.each([
    "0.0.0.0",
    "::",
    "10.0.0.5",
    "fd00::1",
    "router.internal",
    "127.example",
    "localhost.example",
    "::ffff:10.0.0.5",
    "1270.0.0.1",
  ])("%s is refused without TLS, and the message explains both flags", (host) => {
    const refused = (): unknown => exposureOf("--host", host);
    for (const part of [
      "--insecure-http",
      "unencrypted",
      "--behind-proxy",
      "forwarded headers are ignored",
      "--tls-cert",
    ]) {
      expect(refused).toThrow(part);
    }
    expect(exposureOf("--host", host, "--behind-proxy")).toBe("behind_proxy");
    expect(exposureOf("--host", host, "--insecure-http")).toBe("insecure_http");
    expect(exposureOf("--host", host, ...TLS)).toBeNull();
    expect(exposureOf("--host", host, "--behind-proxy", ...TLS)).toBeNull();
  });

  it.each(["127.0.0.1", "127.8.9.1", "::1", "0:0:0:0:0:0:0:1", "localhost"])(
    "%s is this machine and needs no flag",
    (host) => {
      expect(exposureOf("--host", host)).toBeNull();
      expect(exposureOf("--host", host, "--behind-proxy")).toBeNull();
    },
  );

  it("--insecure-http is refused together with --behind-proxy or TLS", () => {
    expect(() => exposureOf("--insecure-http", "--behind-proxy")).toThrow(
      "leave one of the two out",
    );
    expect(() => exposureOf("--insecure-http", ...TLS)).toThrow("leave one of the two out");
  });
});
