"""Programs of a user on lab time: the lab's side of a Linux process that lives beside the lab."""
