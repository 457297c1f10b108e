# METADATA
# scope: package
# title: Structured output goes only to endpoints that hold to the format asked for
# custom:
#   signalbox:
#     contract: 1
#     id: structured-output-parity
#     owners: [group:platform]
#     applies_to: {operations: [chat.completions, responses, messages]}
#     constraints:
#       format_supported: {effect: filter, reasons: [FORMAT_NOT_SUPPORTED, SCHEMA_NOT_SUPPORTED]}
package signalbox.policy.structured_output_parity

asked contains format if {
	some format in {"json_object", "json_schema"}
	format in input.request.needs
}

lacking contains [candidate.id, format] if {
	some candidate in input.candidates
	some format in asked
	not format in candidate.capabilities
}

pass.format_supported contains candidate.id if {
	some candidate in input.candidates
	every format in asked {
		format in candidate.capabilities
	}
}

reason.format_supported[id] := "SCHEMA_NOT_SUPPORTED" if some [id, "json_schema"] in lacking
