import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { missingPrograms } from "../../support/at-hand.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

const obstacle = NO_POSTGRES ?? missingPrograms("openssl");

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describe.skipIf(obstacle !== null)(`TLS to PostgreSQL ${obstacle ?? ""}`, () => {
  let folder: string;
  let server: TestServer;
  let url: URL;
  let operator: postgres.Sql;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-tls-"));
    const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
      ].concat(["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]),
      { stdio: "ignore" },
    );
    chmodSync(folder, 0o755);
    chmodSync(key, 0o600);
    if (process.getuid?.() === 0) chownSync(key, 65_534, 65_534);
    server = await startTestServer([
      "ssl=on",
      `ssl_cert_file=${certificate}`,
      `ssl_key_file=${key}`,
    ]);
    url = new URL(await server.database());
    operator = postgres(url.href, { max: 1 });
    url.password = "a-secret";
  }, 60_000);
  afterAll(async () => {
    await operator.end({ timeout: 0 });
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const attempt = async (host: string, parameters: Record<string, string>): Promise<string> => {
    const attempted = new URL(url);
    attempted.hostname = host;
    attempted.search = new URLSearchParams(parameters).toString();
    try {
      const store = await openPostgresStore({ url: attempted.href });
      const [connection] = await operator`
        SELECT bool_and(ssl) AS encrypted FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name = 'signalbox'`;
      await store.close();
      return connection?.encrypted === true ? "encrypted" : "in the clear";
    } catch (error) {
      expect(String(error)).not.toContain("a-secret");
      return String(error);
    }
  };
  const sslrootcert = (): string => join(folder, "certificate.pem");

  it("verify-full opens where the certificate is trusted and names the host", async () => {
    expect(await attempt("localhost", { sslmode: "verify-full", sslrootcert: sslrootcert() })).toBe(
      "encrypted",
    );
  });

  it("verify-full refuses a certificate that no authority signed", async () => {
    expect(await attempt("localhost", { sslmode: "verify-full" })).toContain(
      "check sslmode and sslrootcert",
    );
  });

  it("verify-full refuses the certificate of another host", async () => {
    expect(
      await attempt("127.0.0.1", { sslmode: "verify-full", sslrootcert: sslrootcert() }),
    ).toContain("check sslmode and sslrootcert (ERR_TLS_CERT_ALTNAME_INVALID)");
  });

  it("require only encrypts; disable does not", async () => {
    expect(await attempt("127.0.0.1", { sslmode: "require" })).toBe("encrypted");
    expect(await attempt("127.0.0.1", { sslmode: "disable" })).toBe("in the clear");
  });
});
