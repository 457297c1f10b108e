import { AWS_CREDENTIAL_SOURCES, GOOGLE_CREDENTIAL_SOURCES } from "../../canon/table.ts";
import { DEFAULT_AWS_PROFILE } from "../normalised/defaults.ts";
import { choose, list, object, ref, type Schema, text } from "./schema.ts";

const signing = object(
  "Every call is signed (AWS Signature Version 4) with keys that are renewed before they expire.",
  {
    service: {
      ...text(
        "^[a-z0-9][a-z0-9-]{0,62}$",
        "the name of an AWS service in signatures, such as `bedrock`",
      ),
      description:
        "Name of the service in signatures, such as `bedrock`. Compared with the service or region in the host name.",
    },
    region: {
      ...text("^[a-z0-9][a-z0-9-]{0,62}$", "an AWS region such as `eu-west-1`"),
      description:
        "Region in signatures. The host's region unless set; required where the host name has none.",
    },
    credentials: {
      enum: AWS_CREDENTIAL_SOURCES,
      description:
        "Source of the keys; no other source is tried. `env`: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if set, AWS_SESSION_TOKEN. `web_identity`: the role AWS_ROLE_ARN with the token in AWS_WEB_IDENTITY_TOKEN_FILE. `shared_file`: a profile of the AWS tools' files. `container`: Amazon ECS or EKS. `instance`: Amazon EC2.",
    },
    profile: {
      ...text("^[A-Za-z0-9_@+.%:/-]{1,128}$", "the name of a profile"),
      default: DEFAULT_AWS_PROFILE,
      description: "Profile of the shared files; for `credentials: shared_file` only.",
    },
  },
  ["service", "credentials"],
);

const googleOauth = object(
  "Every call carries a Google OAuth token that is renewed before it expires.",
  {
    credentials: {
      description:
        "Source of the tokens; no other source is tried. `adc`: the file that GOOGLE_APPLICATION_CREDENTIALS names, or else gcloud's. `metadata_server`: the machine's, on Google Cloud. Or `{file: path}`.",
      ...choose(
        "string",
        { enum: GOOGLE_CREDENTIAL_SOURCES },
        object(
          "A credentials file of Google's.",
          { file: ref("path", "Path, relative to routes.yaml.") },
          ["file"],
        ),
      ),
    },
    scopes: list(
      "Scope of the tokens. `https://www.googleapis.com/auth/cloud-platform` unless set.",
      text(
        "^https://[!-~]{1,255}$",
        "a scope such as `https://www.googleapis.com/auth/cloud-platform`",
      ),
    ),
  },
  ["credentials"],
);

/** One form of `auth`: these keys, some of them required, and none of the others. */
function form(required: readonly string[], optional: readonly string[] = []): Schema {
  const others = KEYS.filter((key) => !required.includes(key) && !optional.includes(key));
  return { required, not: { anyOf: others.map((key) => ({ required: [key] })) } };
}

const KEYS = ["bearer", "header", "secret", "prefix", "aws_sigv4", "google_oauth"];

/** `auth` where it is not `none`. */
export const auth = {
  ...object("How requests authenticate to the provider.", {
    bearer: ref("secret", "Sent as `Authorization: Bearer …`."),
    header: {
      ...text("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$", "an HTTP header name"),
      description: "Header that carries `secret`.",
    },
    prefix: {
      ...text(
        "^[A-Za-z][A-Za-z-]{0,15} ?$",
        "letters only, with a space at the end, such as `Token `",
      ),
      description: "Text before the secret in `header`, such as `Token `. Empty unless set.",
    },
    secret: ref("secret", "What `header` carries."),
    aws_sigv4: signing,
    google_oauth: googleOauth,
    on_missing_secret: {
      enum: ["fail", "disable", "simulate"],
      default: "fail",
      description:
        "What to do at start when the secret is not set: refuse to start, leave the provider out, or answer from the built-in simulated upstream.",
    },
  }),
  oneOf: [
    form(["bearer"]),
    form(["header", "secret"], ["prefix"]),
    form(["aws_sigv4"]),
    form(["google_oauth"]),
  ],
};
