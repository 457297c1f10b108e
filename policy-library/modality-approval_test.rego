package signalbox.policy.modality_approval_test

import data.signalbox.policy.modality_approval as modality

asking(labels, needs) := {"workspace": {"labels": labels}, "request": {"needs": needs}}

everything := ["audio_input", "audio_output", "file_input", "image_input", "image_output", "video_input"]

test_text_and_tools_pass_without_labels if {
	modality.pass.audio_labelled with input as asking([], ["tools", "json_schema"])
	modality.pass.files_labelled with input as asking([], ["tools", "json_schema"])
	modality.pass.images_labelled with input as asking([], ["tools", "json_schema"])
	modality.pass.video_labelled with input as asking([], ["tools", "json_schema"])
}

test_images_need_their_label[need] if {
	some need in ["image_input", "image_output"]
	not modality.pass.images_labelled with input as asking(["audio", "files", "video"], [need])
	modality.pass.images_labelled with input as asking(["images"], [need])
}

test_audio_needs_its_label[need] if {
	some need in ["audio_input", "audio_output"]
	not modality.pass.audio_labelled with input as asking(["files", "images", "video"], [need])
	modality.pass.audio_labelled with input as asking(["audio"], [need])
}

test_files_need_their_label if {
	not modality.pass.files_labelled with input as asking(["audio", "images", "video"], ["file_input"])
	modality.pass.files_labelled with input as asking(["files"], ["file_input"])
}

test_video_needs_its_label if {
	not modality.pass.video_labelled with input as asking(["audio", "files", "images"], ["video_input"])
	modality.pass.video_labelled with input as asking(["video"], ["video_input"])
}

test_one_label_opens_one_modality if {
	modality.pass.images_labelled with input as asking(["images"], everything)
	not modality.pass.audio_labelled with input as asking(["images"], everything)
	not modality.pass.files_labelled with input as asking(["images"], everything)
	not modality.pass.video_labelled with input as asking(["images"], everything)
}

test_reason_tells_output_apart if {
	modality.reason.audio_labelled == "AUDIO_OUTPUT_NOT_APPROVED" with input as asking([], ["audio_input", "audio_output"])
	modality.reason.images_labelled == "IMAGE_OUTPUT_NOT_APPROVED" with input as asking([], ["image_output"])
}

test_input_has_the_first_reason if {
	not modality.reason.audio_labelled with input as asking([], ["audio_input"])
	not modality.reason.images_labelled with input as asking([], ["image_input"])
}

test_nothing_passes_where_needs_are_unknown if {
	not modality.pass.images_labelled with input as {"workspace": {"labels": []}}
}
