# METADATA
# scope: package
# title: Endpoints with tags serve only callers with one of these labels
# custom:
#   signalbox:
#     contract: 1
#     id: tag-routing
#     owners: [group:platform]
#     constraints:
#       tag_matches: {effect: filter, reasons: [NO_ENDPOINT_FOR_THE_LABELS]}
package signalbox.policy.tag_routing

# Endpoint: labels of which the key or its workspace needs one.
tags := {
	"gpt-4o-mini-openai": {"free"},
	"gpt-4o-openai": {"paid", "tier-one"},
}

# Endpoints for callers that have none of the labels.
untagged := {"gpt-4.1-openai"}

all_labels := {"free", "paid", "tier-one"}

held contains label if some label in input.workspace.labels

held contains label if some label in input.key.labels

pass.tag_matches contains candidate.id if {
	some candidate in input.candidates
	count(tags[candidate.id] & held) > 0
}

pass.tag_matches contains candidate.id if {
	some candidate in input.candidates
	candidate.id in untagged
	count(held & all_labels) == 0
}

# Endpoints of routes without tags.
pass.tag_matches contains candidate.id if {
	some candidate in input.candidates
	not tags[candidate.id]
	not candidate.id in untagged
}
