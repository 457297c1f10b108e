import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

import { isPostgresUrl, parsePostgresUrl } from "../../../src/store/postgres/settings.ts";
import { temporaryFolder } from "../temporary-folder.ts";

describe("the URL of a PostgreSQL", () => {
  it("is distinguished from the path of a file", () => {
    expect(["postgres://h/d", "postgresql://h", "POSTGRES://h"].map(isPostgresUrl)).toEqual([
      true,
      true,
      true,
    ]);
    expect(
      ["data/postgres.db", "postgres", "./postgres://h", "file:postgres://h"].map(isPostgresUrl),
    ).toEqual([false, false, false, false]);
  });

  it("is split into its parts, percent-decoded", () => {
    expect(
      parsePostgresUrl("postgres://us%40er:p%2Fw%3A@db.example:6432/my%20base?sslmode=disable"),
    ).toEqual({
      host: "db.example",
      port: 6432,
      socketPath: null,
      user: "us@er",
      password: "p/w:",
      database: "my base",
      tls: false,
    });
  });

  it.each([
    ["postgres://db.example/d", { rejectUnauthorized: true }],
    ["postgres://db.example/d?sslmode=verify-full", { rejectUnauthorized: true }],
    ["postgres://db.example/d?sslmode=require", { rejectUnauthorized: false }],
    ["postgres://db.example/d?sslmode=disable", false],
    ["postgres://localhost/d", false],
    ["postgres://127.0.0.1/d", false],
    ["postgres://[::1]/d", false],
    ["postgres://127.example/d", { rejectUnauthorized: true }],
    ["postgres://localhost/d?sslmode=verify-full", { rejectUnauthorized: true }],
  ])("%s: TLS by sslmode, and full verification for another machine without it", (url, tls) => {
    expect(parsePostgresUrl(url).tls).toEqual(tls);
  });

  it("trusts the certificates of sslrootcert", () => {
    const file = join(temporaryFolder(), "ca.pem");
    writeFileSync(file, "a certificate");
    const url = `postgres://db.example/d?sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`;
    expect(parsePostgresUrl(url).tls).toEqual({ rejectUnauthorized: true, ca: "a certificate" });
  });

  it("can lead to a Unix socket", () => {
    expect(parsePostgresUrl("postgres:///d?host=/run/postgresql")).toMatchObject({
      host: null,
      socketPath: "/run/postgresql/.s.PGSQL.5432",
      tls: false,
    });
  });

  it.each([
    ["postgres://u:sec/ret@h/d", "percent-encoded"],
    ["postgres://u:secret@h:port/d", "percent-encoded"],
    ["postgres://u:secret%@h/d", "written %25"],
    ["postgres://u:secret@h/d?sslmode=prefer", "sslmode: give verify-full, require or disable"],
    ["postgres://u:secret@h/d?sslmode=require&sslmode=disable", "sslmode is given twice"],
    ["postgres://u:secret@h/d?password=secret", "the parameters it may have are"],
    [
      "postgres://u:secret@h/d?sslmode=verify-full&sslrootcert=/secret",
      "sslrootcert: the file cannot be read",
    ],
    [
      "postgres://u:secret@h/d?sslmode=require&sslrootcert=/secret",
      "with sslmode=verify-full only",
    ],
    ["postgres://u:secret@h/d?host=secret", "for the folder of a Unix socket"],
  ])("refuses %s without repeating any of it", (url, complaint) => {
    expect(() => parsePostgresUrl(url)).toThrow(complaint);
    expect(() => parsePostgresUrl(url)).not.toThrow(/secret|sec\/ret/);
  });
});
