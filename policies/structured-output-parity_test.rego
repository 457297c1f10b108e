package signalbox.policy.structured_output_parity_test

import data.signalbox.policy.structured_output_parity as parity

candidates := [
	{"id": "schema", "capabilities": ["json_object", "json_schema", "tools"]},
	{"id": "object", "capabilities": ["json_object", "tools"]},
	{"id": "text", "capabilities": ["tools"]},
]

needing(capabilities) := {"request": {"needs": capabilities}, "candidates": candidates}

test_plain_request_goes_anywhere if {
	parity.pass.format_supported == {"schema", "object", "text"} with input as needing(["tools"])
}

test_schema_goes_where_it_is_enforced if {
	parity.pass.format_supported == {"schema"} with input as needing(["json_schema", "tools"])
}

test_json_object_goes_where_it_is_supported if {
	parity.pass.format_supported == {"schema", "object"} with input as needing(["json_object"])
}

test_reason_names_the_schema_for_each_candidate if {
	parity.reason.format_supported == {"object": "SCHEMA_NOT_SUPPORTED", "text": "SCHEMA_NOT_SUPPORTED"} with input as needing(["json_schema"])
}

test_no_reason_of_its_own_for_json_object if {
	count(parity.reason.format_supported) == 0 with input as needing(["json_object"])
}
