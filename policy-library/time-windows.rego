# METADATA
# scope: package
# title: Workspaces labelled office-hours are used in office hours only, those labelled off-peak outside of them
# custom:
#   signalbox:
#     contract: 1
#     id: time-windows
#     owners: [group:platform]
#     constraints:
#       office_hours: {effect: gate, reasons: [OUTSIDE_OFFICE_HOURS, OUTSIDE_WORKING_DAYS]}
#       off_peak: {effect: gate, reasons: [IN_OFFICE_HOURS]}
package signalbox.policy.time_windows

# Values that routes.yaml may declare later.
# signalbox: later office-hours, off-peak

# Buckets are of UTC: morning is 06:00 to 11:59, afternoon 12:00 to 17:59.
peak if {
	input.time.day == "weekday"
	input.time.hour in {"morning", "afternoon"}
}

# Written out, not as `not peak`: a bucket that is added later is in neither window until somebody puts it into one.
quiet if input.time.day == "weekend"

quiet if input.time.hour in {"evening", "night"}

labelled(label) if label in input.workspace.labels

pass["office_hours"] if not labelled("office-hours")

pass["office_hours"] if peak

pass["off_peak"] if not labelled("off-peak")

pass["off_peak"] if quiet

reason["office_hours"] := "OUTSIDE_WORKING_DAYS" if input.time.day == "weekend"
