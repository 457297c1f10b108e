package signalbox.policy.provider_deny_list_test

import data.signalbox.policy.provider_deny_list as deny_list

candidates := [
	{"id": "a", "provider": "good"},
	{"id": "b", "provider": "reviewed"},
	{"id": "c", "provider": "breached"},
	{"id": "d", "provider": "left"},
]

choosing(ids) := {"candidates": [candidate | some candidate in candidates; candidate.id in ids]}

# Lists of the test's own, so that a change of the real ones breaks no test.
test_denied_providers_are_left_out if {
	deny_list.pass.provider_not_denied == {"a"} with input as choosing({"a", "b", "c", "d"})
		with deny_list.under_review as {"reviewed"}
		with deny_list.incident as {"breached"}
		with deny_list.contract_ended as {"left"}
}

test_empty_lists_deny_nobody if {
	deny_list.pass.provider_not_denied == {"a", "b", "c", "d"} with input as choosing({"a", "b", "c", "d"})
		with deny_list.under_review as set()
		with deny_list.incident as set()
		with deny_list.contract_ended as set()
}

test_review_is_the_first_reason if {
	deny_list.pass.provider_not_denied == set() with input as choosing({"b"}) with deny_list.under_review as {"reviewed"}
	deny_list.reason.provider_not_denied == {} with input as choosing({"b"}) with deny_list.under_review as {"reviewed"}
}

test_incident_has_a_reason_of_its_own if {
	deny_list.reason.provider_not_denied == {"c": "PROVIDER_INCIDENT"} with input as choosing({"a", "c"})
		with deny_list.incident as {"breached"}
}

test_ended_contract_has_a_reason_of_its_own if {
	deny_list.reason.provider_not_denied == {"d": "PROVIDER_CONTRACT_ENDED"} with input as choosing({"a", "d"})
		with deny_list.contract_ended as {"left"}
}

# Two reasons for one candidate are no reason at all: the verdict would be indeterminate.
test_no_provider_stands_in_two_lists if {
	deny_list.under_review & deny_list.incident == set()
	deny_list.under_review & deny_list.contract_ended == set()
	deny_list.incident & deny_list.contract_ended == set()
}
