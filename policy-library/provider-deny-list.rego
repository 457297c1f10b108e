# METADATA
# scope: package
# title: Providers on a deny list are left out, with the reason why each of them is there
# custom:
#   signalbox:
#     contract: 1
#     id: provider-deny-list
#     owners: [group:platform]
#     constraints:
#       provider_not_denied:
#         effect: filter
#         reasons: [PROVIDER_UNDER_REVIEW, PROVIDER_INCIDENT, PROVIDER_CONTRACT_ENDED]
package signalbox.policy.provider_deny_list

# The examples below are no providers; take this line out with them.
# signalbox: later example-under-review, example-incident, example-contract-ended

# Provider ids of routes.yaml; those below are examples. A provider stands in one list at most, which a test holds.
under_review := {"example-under-review"}

incident := {"example-incident"}

contract_ended := {"example-contract-ended"}

denied := (under_review | incident) | contract_ended

pass.provider_not_denied contains candidate.id if {
	some candidate in input.candidates
	not candidate.provider in denied
}

# Written out for each list: a reason that is written in the source is checked against METADATA, a looked-up one is not.
reason.provider_not_denied[candidate.id] := "PROVIDER_INCIDENT" if {
	some candidate in input.candidates
	candidate.provider in incident
}

reason.provider_not_denied[candidate.id] := "PROVIDER_CONTRACT_ENDED" if {
	some candidate in input.candidates
	candidate.provider in contract_ended
}
