package signalbox.policy.environment_separation_test

import data.signalbox.policy.environment_separation as separation

calling(labels, environment) := {"workspace": {"labels": labels}, "key": {"environment": environment}}

test_unlabelled_workspace_takes_every_key[environment] if {
	some environment in ["production", "staging", "development", "other"]
	separation.pass.environment_matches with input as calling(["eu"], environment)
}

test_production_workspace_takes_production_keys_only if {
	separation.pass.environment_matches with input as calling(["production"], "production")
	not separation.pass.environment_matches with input as calling(["production"], "staging")
}

test_non_production_workspace_takes_no_production_key if {
	separation.pass.environment_matches with input as calling(["non-production"], "staging")
	not separation.pass.environment_matches with input as calling(["non-production"], "production")
}

test_contradicting_labels_pass_nothing[environment] if {
	some environment in ["production", "staging"]
	not separation.pass.environment_matches with input as calling(["production", "non-production"], environment)
}

test_reason_tells_an_unknown_environment_apart if {
	separation.reason.environment_matches == "ENVIRONMENT_UNKNOWN" with input as calling(["production"], "other")
	not separation.reason.environment_matches with input as calling(["production"], "staging")
}
