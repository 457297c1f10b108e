import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { connect as connectPlain } from "node:net";
import { join } from "node:path";
import { connect, type ConnectionOptions } from "node:tls";
import { Agent, request } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { readTls } from "../../src/server/tls.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";
import { delta, sse, startSse, startUpstream } from "../support/router.ts";
import { makeCertificate, NO_OPENSSL } from "./certificate.ts";
import { addKey, startRunning, writeFixture } from "./running-server.ts";

/** Name of the certificate that a new connection is shown, or the error's code. */
function shownBy(url: string, more: ConnectionOptions = {}): Promise<string> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect(
      { host: hostname, port: Number(port), rejectUnauthorized: false, ...more },
      () => {
        resolve(`${String(socket.getPeerCertificate().subject.CN)} ${socket.getProtocol() ?? ""}`);
        socket.destroy();
      },
    );
    socket.on("error", () => resolve("refused"));
  });
}

describe.skipIf(NO_OPENSSL !== null)(`TLS ${NO_OPENSSL ?? ""}`, () => {
  it("is spoken from 1.2 on; a renewed certificate serves new connections, and a stream continues", async () => {
    const upstreamGoesOn = Promise.withResolvers<void>();
    const upstream = await startUpstream(async (response) => {
      startSse(response);
      response.write(sse(delta("before ")));
      await upstreamGoesOn.promise;
      response.end(`${sse(delta("after", "stop"))}data: [DONE]\n\n`);
    });
    const folder = temporaryFolder();
    const [first, second] = [makeCertificate(folder, "first"), makeCertificate(folder, "second")];
    const tls = { cert: join(folder, "served.crt"), key: join(folder, "served.key") };
    copyFileSync(first.cert, tls.cert);
    copyFileSync(first.key, tls.key);
    const server = await startRunning(writeFixture(upstream.url), { tls });
    expect(server.url).toMatch(/^https:/);
    expect(server.adminUrl).toMatch(/^http:/);
    const { text: key } = await addKey(server.store);
    const agent = new Agent({ connect: { ca: readFileSync(first.cert) } });
    onTestFinished(() => agent.destroy());
    const answer = await request(`${server.url}/v1/chat/completions`, {
      method: "POST",
      dispatcher: agent,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "large",
        stream: true,
        messages: [{ role: "user", content: "x" }],
      }),
    });
    expect(answer.statusCode).toBe(200);
    expect(await shownBy(server.url)).toBe("first TLSv1.3");
    expect(await shownBy(server.url, { maxVersion: "TLSv1.2" })).toBe("first TLSv1.2");
    const old = {
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    } as const;
    expect(await shownBy(server.url, old)).toBe("refused");

    // A key that does not fit changes nothing, and says so.
    copyFileSync(second.cert, tls.cert);
    await expect(server.reload()).rejects.toThrow("--tls-key: is not the key of the certificate");
    expect(await shownBy(server.url)).toBe("first TLSv1.3");
    expect(await (await fetch(`${server.adminUrl}/readyz`)).json()).toEqual({ status: "ready" });
    copyFileSync(second.key, tls.key);
    expect((await server.reload()).ok).toBe(true);
    expect(await shownBy(server.url)).toBe("second TLSv1.3");
    upstreamGoesOn.resolve();
    expect(await answer.body.text()).toMatch(/before [\s\S]*after[\s\S]*\[DONE\]/);

    // Somebody who speaks no TLS gets nothing, and no other client notices.
    const { hostname, port } = new URL(server.url);
    const plain = connectPlain(Number(port), hostname);
    const heard: Buffer[] = [];
    plain.on("data", (chunk: Buffer) => heard.push(chunk));
    plain.on("error", () => {});
    plain.write("GET /status HTTP/1.1\r\nhost: x\r\n\r\n");
    await new Promise((resolve) => plain.on("close", resolve));
    expect(Buffer.concat(heard).toString("latin1")).not.toContain("HTTP/1.1 200");
    expect(await shownBy(server.url)).toBe("second TLSv1.3");
  });

  it("refuses at the start a certificate that clients would refuse later, naming the flag and quoting nothing", async () => {
    const folder = temporaryFolder();
    const [one, two] = [makeCertificate(folder, "one"), makeCertificate(folder, "two")];
    const strange = join(folder, "strange.pem");
    writeFileSync(strange, "my-secret-key-material");
    const inTwoDays = Date.now() + 2 * 86_400_000;
    expect(readTls(one, Date.now()).cert).toContain("BEGIN CERTIFICATE");
    expect(() => readTls({ cert: one.cert, key: two.key }, Date.now())).toThrow(
      "--tls-key: is not the key",
    );
    expect(() => readTls(one, inTwoDays)).toThrow("--tls-cert: the certificate has expired");
    expect(() => readTls(one, 0)).toThrow("--tls-cert: the certificate is not valid yet");
    expect(() => readTls({ cert: strange, key: one.key }, 0)).toThrow(
      /^--tls-cert: the file must contain a certificate in PEM$/,
    );
    expect(() => readTls({ cert: one.cert, key: strange }, 0)).toThrow(
      /^--tls-key: the file must contain a private key/,
    );
    expect(() => readTls({ cert: join(folder, "none"), key: one.key }, 0)).toThrow(
      "--tls-cert: the file cannot be read",
    );
    const wrong = { tls: { cert: one.cert, key: two.key } };
    await expect(startRunning(writeFixture("http://127.0.0.1:9"), wrong)).rejects.toThrow(
      "--tls-key",
    );
  });
});
