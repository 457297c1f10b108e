package signalbox.policy.time_windows_test

import data.signalbox.policy.time_windows

at(labels, day, hour) := {"workspace": {"labels": labels}, "time": {"day": day, "hour": hour}}

days := ["weekday", "weekend"]

hours := ["night", "morning", "afternoon", "evening"]

test_unlabelled_workspace_has_no_window[[day, hour]] if {
	some day in days
	some hour in hours
	time_windows.pass.office_hours with input as at(["eu"], day, hour)
	time_windows.pass.off_peak with input as at(["eu"], day, hour)
}

test_office_hours_are_the_day_on_working_days[hour] if {
	some hour in ["morning", "afternoon"]
	time_windows.pass.office_hours with input as at(["office-hours"], "weekday", hour)
	not time_windows.pass.off_peak with input as at(["off-peak"], "weekday", hour)
}

test_evenings_and_nights_are_off_peak[[day, hour]] if {
	some day in days
	some hour in ["evening", "night"]
	not time_windows.pass.office_hours with input as at(["office-hours"], day, hour)
	time_windows.pass.off_peak with input as at(["off-peak"], day, hour)
}

test_weekends_are_off_peak[hour] if {
	some hour in hours
	not time_windows.pass.office_hours with input as at(["office-hours"], "weekend", hour)
	time_windows.pass.off_peak with input as at(["off-peak"], "weekend", hour)
}

test_both_labels_leave_no_window[[day, hour]] if {
	some day in days
	some hour in hours
	windows := {"office-hours", "off-peak"}
	passing := [true |
		time_windows.pass.office_hours with input as at(windows, day, hour)
		time_windows.pass.off_peak with input as at(windows, day, hour)
	]
	count(passing) == 0
}

test_time_that_is_not_a_known_bucket_is_in_no_window if {
	not time_windows.pass.office_hours with input as at(["office-hours"], "weekday", "dawn")
	not time_windows.pass.off_peak with input as at(["off-peak"], "weekday", "dawn")
}

test_reason_tells_weekends_apart if {
	time_windows.reason.office_hours == "OUTSIDE_WORKING_DAYS" with input as at(["office-hours"], "weekend", "morning")
	not time_windows.reason.office_hours with input as at(["office-hours"], "weekday", "night")
}
