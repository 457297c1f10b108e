type Environment = Readonly<Record<string, string | undefined>>;

/** A variable of the environment; empty where it is not set. */
export function variable(environment: Environment, name: string): string {
  return Object.hasOwn(environment, name) ? (environment[name] ?? "") : "";
}

/**
 * The file of Google's application default credentials: the named one, or else the one that `gcloud
 * auth application-default login` writes. The metadata server, third in Google's own order, is a
 * separate source here: only a call would show whether it exists.
 */
export function applicationDefaultFile(environment: Environment): string {
  const path = variable(environment, "GOOGLE_APPLICATION_CREDENTIALS");
  if (path !== "") return path;
  const folder =
    variable(environment, "CLOUDSDK_CONFIG") ||
    (variable(environment, "APPDATA") === ""
      ? `${homeOf(environment)}/.config/gcloud`
      : `${variable(environment, "APPDATA")}/gcloud`);
  return `${folder}/application_default_credentials.json`;
}

/** The two files that the AWS tools share; either may be absent. */
export function awsSharedFiles(environment: Environment): {
  readonly credentials: string;
  readonly config: string;
} {
  const home = homeOf(environment);
  return {
    credentials: variable(environment, "AWS_SHARED_CREDENTIALS_FILE") || `${home}/.aws/credentials`,
    config: variable(environment, "AWS_CONFIG_FILE") || `${home}/.aws/config`,
  };
}

function homeOf(environment: Environment) {
  return variable(environment, "HOME") || variable(environment, "USERPROFILE");
}
