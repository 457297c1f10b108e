package signalbox.policy.eu_residency_test

import data.signalbox.policy.eu_residency

regions := {"eu": ["eu-west", "eu-central"], "us": ["us-east"]}

candidates := [
	{"id": "in-eu", "rank": "primary", "region": "eu-west"},
	{"id": "in-us", "rank": "fallback", "region": "us-east"},
]

labelled := {"workspace": {"labels": ["eu"]}, "candidates": candidates}

unlabelled := {"workspace": {"labels": []}, "candidates": candidates}

test_labelled_workspace_passes_only_in_the_eu if {
	eu_residency.pass.processed_in_eu == {"in-eu"} with input as labelled with data.regions as regions
}

test_workspace_without_the_label_passes_anywhere if {
	eu_residency.pass.processed_in_eu == {"in-eu", "in-us"} with input as unlabelled with data.regions as regions
}

test_nothing_passes_where_the_table_declares_no_eu if {
	eu_residency.pass.processed_in_eu == set() with input as labelled with data.regions as {"us": ["us-east"]}
}

test_reason_says_that_the_group_is_missing if {
	eu_residency.reason.processed_in_eu == "EU_REGIONS_NOT_DECLARED" with input as labelled
		with data.regions as {"us": ["us-east"]}
}

test_no_reason_of_its_own_where_the_group_exists if {
	not eu_residency.reason.processed_in_eu with input as labelled with data.regions as regions
}
