# METADATA
# scope: package
# title: A table of time zones
# custom:
#   signalbox:
#     contract: 1
#     id: style-time-zones
#     owners: [group:platform]
#     constraints:
#       ok: {effect: gate, reasons: [DENIED]}
package signalbox.policy.style_time_zones

zones := {
	"tenant-0": {"morning": "open", "afternoon": "open", "evening": "closed", "night": "closed"},
	"tenant-1": {"morning": "closed", "afternoon": "open", "evening": "open", "night": "closed"},
	# head: "tenant-1": {"morning": "closed", "afternoon": "open", "evening": "open", "night": "open"},
}

pass.ok if input.time.day == "weekend"

pass.ok if zones[input.workspace.id][input.time.hour] == "open"

pass.ok if not zones[input.workspace.id]
