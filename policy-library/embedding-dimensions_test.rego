package signalbox.policy.embedding_dimensions_test

import data.signalbox.policy.embedding_dimensions

approved := {"search": [256, 1024], "chat": []}

asking(workspace, dimensions) := {"workspace": {"id": workspace}, "request": {"dimensions": dimensions}}

test_approved_length_passes[length] if {
	some length in [256, 1024]
	embedding_dimensions.pass.length_stated with input as asking("search", length)
	embedding_dimensions.pass.length_approved with input as asking("search", length) with data.approved.dimensions as approved
}

test_other_length_does_not_pass if {
	not embedding_dimensions.pass.length_approved with input as asking("search", 512) with data.approved.dimensions as approved
}

test_length_has_to_be_stated if {
	not embedding_dimensions.pass.length_stated with input as asking("search", 0)
	embedding_dimensions.pass.length_approved with input as asking("search", 0) with data.approved.dimensions as approved
}

test_workspace_without_lengths_passes_none[[workspace, length]] if {
	some workspace in ["chat", "unheard-of"]
	some length in [0, 256]
	not embedding_dimensions.pass.length_approved with input as asking(workspace, length)
		with data.approved.dimensions as approved
}

test_reason_says_that_no_length_is_approved if {
	embedding_dimensions.reason.length_approved == "NO_LENGTH_APPROVED" with input as asking("chat", 256)
		with data.approved.dimensions as approved
}

test_no_reason_of_its_own_where_some_length_is_approved if {
	not embedding_dimensions.reason.length_approved with input as asking("search", 512) with data.approved.dimensions as approved
}
