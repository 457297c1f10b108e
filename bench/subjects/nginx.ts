import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Children, Listening } from "../children.ts";
import { answers, freePort } from "../ports.ts";

/** Milliseconds that nginx may take to listen. */
const ANSWER_LIMIT = 5_000;

export interface StartedNginx extends Listening {
  /** Such as `1.28.0`. */
  readonly version: string;
}

/**
 * Starts nginx as one process that relays to the upstream over kept connections, passing streams on
 * as they come.
 *
 * @returns a sentence where it is not installed or does not start: the comparison goes on without
 * it.
 */
export async function startNginx(
  children: Children,
  upstream: string,
  folder: string,
  core: string | null,
): Promise<StartedNginx | string> {
  const version = installedVersion();
  if (version === null) return "nginx: not installed, omitted";
  const port = await freePort();
  const prefix = join(folder, "nginx");
  mkdirSync(join(prefix, "logs"), { recursive: true });
  writeFileSync(join(prefix, "nginx.conf"), configuration(port, new URL(upstream).host));
  const child = children.start(
    "nginx",
    ["-p", prefix, "-c", "nginx.conf", "-e", "stderr"],
    core,
    false,
  );
  const origin = `http://127.0.0.1:${port}`;
  if (await answers(origin, ANSWER_LIMIT)) return { process: child, origin, version };
  child.kill();
  return `nginx ${version}: did not answer within ${ANSWER_LIMIT / 1_000} s, omitted`;
}

function installedVersion(): string | null {
  const { stderr, status } = spawnSync("nginx", ["-v"], { encoding: "utf8" });
  return status === 0 ? (/nginx\/(\S+)/.exec(stderr)?.[1] ?? "of an unknown version") : null;
}

function configuration(port: number, upstream: string): string {
  return `daemon off;
master_process off;
worker_processes 1;
pid nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  upstream provider {
    server ${upstream};
    keepalive 256;
    keepalive_requests 1000000;
  }
  server {
    listen 127.0.0.1:${port};
    client_body_buffer_size 64k;
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Authorization "Bearer upstream";
      proxy_buffering off;
    }
  }
}
`;
}
