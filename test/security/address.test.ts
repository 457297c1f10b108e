import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressKind, hostKind } from "../../src/network/address.ts";

describe("an address", () => {
  it.each([
    ["8.8.8.8", "public"],
    ["172.15.255.255", "public"],
    ["172.32.0.0", "public"],
    ["100.63.255.255", "public"],
    ["100.128.0.0", "public"],
    ["169.253.255.255", "public"],
    ["192.167.255.255", "public"],
    ["223.255.255.255", "public"],
    ["2606:4700::1111", "public"],
    ["127.0.0.1", "private"],
    ["127.255.255.254", "private"],
    ["10.0.0.1", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["100.64.0.1", "private"],
    ["100.127.255.255", "private"],
    ["::1", "private"],
    ["fc00::1", "private"],
    ["fdff:ffff::1", "private"],
    ["0.0.0.0", "forbidden"],
    ["0.1.2.3", "forbidden"],
    ["169.254.169.254", "forbidden"],
    ["169.254.170.2", "forbidden"],
    ["100.100.100.200", "forbidden"],
    ["168.63.129.16", "forbidden"],
    ["192.0.0.192", "forbidden"],
    ["192.0.2.1", "forbidden"],
    ["224.0.0.1", "forbidden"],
    ["255.255.255.255", "forbidden"],
    ["::", "forbidden"],
    ["fe80::1", "forbidden"],
    ["fe80::1%eth0", "forbidden"],
    ["ff02::1", "forbidden"],
    ["fd00:ec2::254", "forbidden"],
    ["2001::1", "forbidden"],
    ["2001:db8::1", "forbidden"],
    ["4000::1", "forbidden"],
    // An IPv4 address in an IPv6 one is judged as what it leads to.
    ["::ffff:8.8.8.8", "public"],
    ["::ffff:127.0.0.1", "private"],
    ["::ffff:7f00:1", "private"],
    ["::FFFF:A9FE:A9FE", "forbidden"],
    ["::ffff:0:169.254.169.254", "forbidden"],
    ["64:ff9b::10.0.0.1", "private"],
    ["64:ff9b::a9fe:a9fe", "forbidden"],
    ["2002:a9fe:a9fe::1", "forbidden"],
    ["2002:7f00:1::", "private"],
    ["::127.0.0.1", "forbidden"],
    // The last address of a range, and the first behind it.
    ["0.255.255.255", "forbidden"],
    ["1.0.0.0", "public"],
    ["9.255.255.255", "public"],
    ["10.255.255.255", "private"],
    ["11.0.0.0", "public"],
    ["100.100.100.199", "private"],
    ["100.100.100.201", "private"],
    ["126.255.255.255", "public"],
    ["128.0.0.0", "public"],
    ["168.63.129.15", "public"],
    ["168.63.129.17", "public"],
    ["169.254.0.0", "forbidden"],
    ["169.255.0.0", "public"],
    ["192.0.0.255", "forbidden"],
    ["192.0.1.0", "public"],
    ["192.0.2.255", "forbidden"],
    ["192.0.3.0", "public"],
    ["192.88.99.0", "forbidden"],
    ["192.88.100.0", "public"],
    ["192.168.255.255", "private"],
    ["192.169.0.0", "public"],
    ["198.17.255.255", "public"],
    ["198.18.0.0", "private"],
    ["198.19.255.255", "private"],
    ["198.20.0.0", "public"],
    ["198.51.100.255", "forbidden"],
    ["198.51.101.0", "public"],
    ["203.0.113.255", "forbidden"],
    ["203.0.114.0", "public"],
    ["224.0.0.0", "forbidden"],
    ["::2", "forbidden"],
    ["1fff:ffff::", "forbidden"],
    ["2000::", "public"],
    ["2001:1ff:ffff::", "forbidden"],
    ["2001:200::", "public"],
    ["2001:db8:ffff:ffff::", "forbidden"],
    ["2001:db9::", "public"],
    ["3ffe:ffff::", "public"],
    ["3fff:fff::", "forbidden"],
    ["3fff:1000::", "public"],
    ["fbff:ffff::", "forbidden"],
    ["fd00:ec2::253", "private"],
    ["fd20:ce::254", "forbidden"],
    ["fd20:ce::255", "private"],
    ["fe00::", "forbidden"],
    ["fec0::1", "private"],
    ["feff:ffff::", "private"],
    ["64:ff9b:0:1::8.8.8.8", "forbidden"],
    ["64:ff9b:1::8.8.8.8", "private"],
    ["64:ff9b:1:ffff::", "private"],
    ["64:ff9b:2::", "forbidden"],
    ["::fffe:8.8.8.8", "forbidden"],
    ["::ffff:1:8.8.8.8", "forbidden"],
    ["2002:808:808::1", "public"],
    ["2002:6464:64c8::1", "forbidden"],
    ["::ffff:100.100.100.200", "forbidden"],
    ["64:ff9b::100.100.100.201", "private"],
  ] as const)("%s is %s", (text, kind) => {
    expect(addressKind(text)).toBe(kind);
  });

  it.each([
    "",
    "localhost",
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "0x7f.0.0.1",
    "1::2::3",
    ":::",
    "1:2:3:4:5:6:7",
    "g::1",
    "8.8.8.8%eth0",
  ])("that is malformed is refused: %j", (text) => {
    expect(addressKind(text)).toBe("forbidden");
  });

  it("has the kind of the IPv4 address that it leads to, in every way to write it", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        const written = [address, hex].flatMap((text) => [
          `::ffff:${text}`,
          `::ffff:0:${text}`,
          `64:ff9b::${text}`,
        ]);
        for (const text of [...written, `2002:${hex}::`])
          expect(addressKind(text)).toBe(addressKind(address));
      }),
      { numRuns: 2_000 },
    );
  });

  it("has the same kind in every way to write an IPv6 address, and a local one is not public", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const url = `http://[${address}]/`;
        if (!URL.canParse(url)) return;
        const { hostname } = new URL(url);
        // However it is written, it is the same address.
        expect(hostKind(hostname)).toBe(addressKind(address));
        if (/^\[(fe[89ab]|f[cdf])/.test(hostname)) expect(addressKind(address)).not.toBe("public");
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a host", () => {
  it.each([
    ["http://0x7f000001/", "private"],
    ["http://2130706433/", "private"],
    ["http://0177.0.0.1/", "private"],
    ["http://127.1/", "private"],
    ["http://127.0.0.1./", "private"],
    ["http://①⑦②.16.0.1/", "private"],
    ["http://[::ffff:127.0.0.1]/", "private"],
    ["http://LOCALHOST/", "private"],
    ["http://localhost./", "private"],
    ["http://a.b.localhost/", "private"],
    ["http://0/", "forbidden"],
    ["http://[::]/", "forbidden"],
    ["http://2852039166/", "forbidden"],
    ["http://api.example.com/", null],
    ["http://10.example.com/", null],
    ["http://localhost.example.com/", null],
    ["http://cafe/", null],
  ] as const)("%s: %s", (url, kind) => {
    expect(hostKind(new URL(url).hostname)).toBe(kind);
  });
});
