package signalbox.policy.data_retention_test

import data.signalbox.policy.data_retention

candidates := [
	{"id": "keeps-nothing", "retention": "none", "trains_on_data": false},
	{"id": "keeps-a-month", "retention": "days_30", "trains_on_data": false},
	{"id": "keeps-and-trains", "retention": "unlimited", "trains_on_data": true},
]

everything := {"keeps-nothing", "keeps-a-month", "keeps-and-trains"}

regulated := {"workspace": {"tier": "regulated", "labels": []}, "candidates": candidates}

standard := {"workspace": {"tier": "standard", "labels": []}, "candidates": candidates}

test_regulated_workspace_needs_zero_retention if {
	data_retention.pass.nothing_kept == {"keeps-nothing"} with input as regulated
}

test_regulated_workspace_is_not_trained_on if {
	data_retention.pass.not_trained_on == {"keeps-nothing", "keeps-a-month"} with input as regulated
}

test_standard_workspace_passes_everywhere if {
	data_retention.pass.nothing_kept == everything with input as standard
	data_retention.pass.not_trained_on == everything with input as standard
}

test_reason_tells_unlimited_retention_apart if {
	data_retention.reason.nothing_kept == {"keeps-and-trains": "DATA_RETAINED_WITHOUT_LIMIT"} with input as regulated
}

test_unknown_training_does_not_pass if {
	unknown := {"workspace": {"tier": "regulated"}, "candidates": [{"id": "unknown", "retention": "none", "trains_on_data": true}]}
	data_retention.pass.not_trained_on == set() with input as unknown
}

test_unknown_tier_is_treated_as_regulated if {
	unknown := object.union(regulated, {"workspace": {"tier": "new"}})
	data_retention.pass.nothing_kept == {"keeps-nothing"} with input as unknown
	data_retention.pass.not_trained_on == {"keeps-nothing", "keeps-a-month"} with input as unknown
}

test_reason_of_a_month_is_the_first_one if {
	month := object.union(regulated, {"candidates": [{"id": "keeps-a-month", "retention": "days_30", "trains_on_data": false}]})
	data_retention.pass.nothing_kept == set() with input as month
	not data_retention.reason.nothing_kept["keeps-a-month"] with input as month
}
