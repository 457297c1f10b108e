# METADATA
# scope: package
# title: Embeddings say how long their vectors are to be, and the length is one that the workspace may use
# custom:
#   signalbox:
#     contract: 1
#     id: embedding-dimensions
#     owners: [group:search-platform]
#     applies_to: {operations: [embeddings]}
#     constraints:
#       length_approved: {effect: gate, reasons: [LENGTH_NOT_APPROVED, NO_LENGTH_APPROVED]}
#       length_stated: {effect: gate, reasons: [LENGTH_NOT_STATED]}
package signalbox.policy.embedding_dimensions

lengths contains length if some length in data.approved.dimensions[input.workspace.id]

pass["length_stated"] if input.request.dimensions > 0

pass["length_approved"] if input.request.dimensions in lengths

# A length that was not stated is the other constraint's to refuse, where the approvals hold any length.
pass["length_approved"] if {
	input.request.dimensions == 0
	count(lengths) > 0
}

reason["length_approved"] := "NO_LENGTH_APPROVED" if count(lengths) == 0
